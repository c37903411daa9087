#include "tools/data/corpus/tasks.hpp"

#include <algorithm>
#include <string>

#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

using Symbols = std::vector<std::uint64_t>;

std::string spell(const Symbols& symbols) {
  std::string text;
  for (std::uint64_t s : symbols) {
    if (!text.empty()) text += ' ';
    text += std::to_string(s);
  }
  return text;
}

Symbols draw(SplitMix64& random, std::uint64_t symbols, std::uint64_t length) {
  Symbols out(length);
  for (auto& s : out) s = 1 + random.below(symbols);
  return out;
}

SentencePair copied(SplitMix64& random) {
  Symbols sentence = draw(random, 10, 10);
  sentence.front() = 1;
  return {spell(sentence), spell(sentence)};
}

SentencePair reversed(SplitMix64& random) {
  const std::uint64_t length = 1 + random.below(10);
  Symbols sentence = draw(random, 10, length);
  std::string source = spell(sentence);
  std::ranges::reverse(sentence);
  return {std::move(source), spell(sentence)};
}

SentencePair noisy(SplitMix64& random) {
  Symbols heard = draw(random, 8, 40), signal = draw(random, 8, 40);
  for (std::size_t t = 0; t < signal.size(); ++t) {
    if (t > 0 && random.below(10) > 0) signal[t] = signal[t - 1];
    if (random.below(2) == 0) heard[t] = signal[t];
  }
  return {spell(heard), spell(signal)};
}

SentencePair unrelated(SplitMix64& random) {
  std::string source = spell(draw(random, 4999, 100));
  return {std::move(source), spell(draw(random, 4999, 100))};
}

}  // namespace

std::vector<SentencePair> synthetic_task(std::string_view name, std::uint64_t seed,
                                         std::int64_t count) {
  const auto pair = name == "copy"      ? copied
                    : name == "reverse" ? reversed
                    : name == "noisy"   ? noisy
                                        : unrelated;
  SplitMix64 random(seed);
  std::vector<SentencePair> pairs;
  for (std::int64_t i = 0; i < count; ++i) pairs.push_back(pair(random));
  return pairs;
}

}  // namespace glim
