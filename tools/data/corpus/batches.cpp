#include "tools/data/corpus/batches.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "models/pipeline/padded.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

constexpr std::string_view kBatchesOp = "batches";

std::int64_t length(const std::vector<std::int64_t>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

}  // namespace

std::vector<std::vector<std::int64_t>> epoch_batches(std::span<const TokenPair> pairs,
                                                     const BatchOptions& options,
                                                     std::uint64_t seed, std::int64_t epoch) {
  auto pair = [&](std::int64_t i) -> const TokenPair& {
    return pairs[static_cast<std::size_t>(i)];
  };
  std::vector<std::int64_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  SplitMix64 random(seed, static_cast<std::uint64_t>(epoch));
  if (options.shuffle) shuffle(order, random);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const std::int64_t ta = length(pair(a).target), tb = length(pair(b).target);
    const std::int64_t sa = length(pair(a).source), sb = length(pair(b).source);
    if (ta != tb) return ta < tb;
    return ta % 2 == 0 ? sa < sb : sb < sa;  // so that it does not jump where the target grows
  });

  std::vector<std::vector<std::int64_t>> batches;
  std::int64_t widest = 0;  // of the open batch
  for (std::int64_t i : order) {
    const std::int64_t width = std::max(length(pair(i).source), length(pair(i).target)) + 1;
    const std::int64_t rows = batches.empty() ? 0 : length(batches.back());
    const std::int64_t padded = std::max(widest, width) * (rows + 1);
    if (rows == 0 || (options.max_sentences > 0 && rows == options.max_sentences) ||
        (options.max_tokens > 0 && padded > options.max_tokens)) {
      batches.emplace_back();
      widest = 0;
    }
    batches.back().push_back(i);
    widest = std::max(widest, width);
  }
  if (options.shuffle) shuffle(batches, random);
  return batches;
}

Batch make_batch(std::span<const TokenPair> pairs, std::span<const std::int64_t> index) {
  std::vector<const std::vector<std::int64_t>*> sources, targets;
  for (std::int64_t i : index) {
    if (i < 0 || i >= std::ssize(pairs))
      throw IndexError(kBatchesOp, fmt::format("pair {} outside 0..{}", i, std::ssize(pairs) - 1));
    sources.push_back(&pairs[static_cast<std::size_t>(i)].source);
    targets.push_back(&pairs[static_cast<std::size_t>(i)].target);
  }
  return {padded_rows(sources, false, true), padded_rows(targets, true, false),
          padded_rows(targets, false, true)};
}

}  // namespace glim
