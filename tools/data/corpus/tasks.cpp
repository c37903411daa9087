#include "tools/data/corpus/tasks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "tensor/error.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

void check(std::string_view task, std::int64_t count, std::int64_t symbols, std::int64_t length) {
  if (count < 1 || symbols < 1 || length < 1) {
    throw ValueError(task, fmt::format("count {}, symbols {} and length {} must be at least 1",
                                       count, symbols, length));
  }
}

std::string spell(const std::vector<std::uint64_t>& symbols) {
  std::string text;
  for (std::uint64_t s : symbols) {
    if (!text.empty()) text += ' ';
    text += std::to_string(s);
  }
  return text;
}

std::vector<std::uint64_t> draw(SplitMix64& random, std::int64_t symbols, std::int64_t length) {
  std::vector<std::uint64_t> out(static_cast<std::size_t>(length));
  for (auto& s : out) s = 1 + random.below(static_cast<std::uint64_t>(symbols));
  return out;
}

// `count` pairs, each what pair(random) gives.
template <class MakePair>
std::vector<SentencePair> pairs_of(const char* task, std::uint64_t seed, std::int64_t count,
                                   std::int64_t symbols, std::int64_t length,
                                   const MakePair& pair) {
  check(task, count, symbols, length);
  SplitMix64 random(seed);
  std::vector<SentencePair> pairs;
  for (std::int64_t i = 0; i < count; ++i) pairs.push_back(pair(random));
  return pairs;
}

}  // namespace

std::vector<SentencePair> copy_task(std::uint64_t seed, std::int64_t count, std::int64_t symbols,
                                    std::int64_t length) {
  return pairs_of("copy task", seed, count, symbols, length, [&](SplitMix64& random) {
    auto sentence = draw(random, symbols, length);
    sentence.front() = 1;
    return SentencePair{spell(sentence), spell(sentence)};
  });
}

std::vector<SentencePair> reverse_task(std::uint64_t seed, std::int64_t count, std::int64_t symbols,
                                       std::int64_t length) {
  return pairs_of("reverse task", seed, count, symbols, length, [&](SplitMix64& random) {
    const auto n = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(length)));
    auto sentence = draw(random, symbols, n);
    std::string source = spell(sentence);
    std::ranges::reverse(sentence);
    return SentencePair{std::move(source), spell(sentence)};
  });
}

std::vector<SentencePair> noisy_task(std::uint64_t seed, std::int64_t count, std::int64_t symbols,
                                     std::int64_t length) {
  return pairs_of("noisy task", seed, count, symbols, length, [&](SplitMix64& random) {
    auto heard = draw(random, symbols, length), signal = draw(random, symbols, length);
    for (std::size_t t = 0; t < signal.size(); ++t) {
      if (t > 0 && random.below(10) > 0) signal[t] = signal[t - 1];
      if (random.below(2) == 0) heard[t] = signal[t];
    }
    return SentencePair{spell(heard), spell(signal)};
  });
}

std::vector<SentencePair> random_task(std::uint64_t seed, std::int64_t count,
                                      std::int64_t vocabulary, std::int64_t length) {
  const std::int64_t symbols = vocabulary - 1;
  return pairs_of("random task", seed, count, symbols, length, [&](SplitMix64& random) {
    std::string source = spell(draw(random, symbols, length));
    return SentencePair{std::move(source), spell(draw(random, symbols, length))};
  });
}

}  // namespace glim
