#include "tools/data/corpus/batches.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "tensor/error.hpp"
#include "tools/data/corpus/random.hpp"

namespace glim {
namespace {

constexpr std::string_view kBatchesOp = "batches";

std::int64_t length(const std::vector<std::int64_t>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

void check(std::span<const TokenPair> pairs, const BatchOptions& o) {
  if (o.max_tokens < 0 || o.max_sentences < 0) {
    throw ValueError(kBatchesOp, fmt::format("a negative limit: {} tokens, {} sentences",
                                             o.max_tokens, o.max_sentences));
  }
  if (o.max_tokens == 0 && o.max_sentences == 0) {
    throw ValueError(kBatchesOp, "no size set: give a number of tokens or of sentences");
  }
  if (pairs.empty()) throw ValueError(kBatchesOp, "no pairs");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].source.empty() || pairs[i].target.empty()) {
      throw ValueError(kBatchesOp, fmt::format("pair {} has an empty side", i));
    }
  }
}

void put_row(std::vector<std::int64_t>& out, std::int64_t row, std::int64_t width,
             std::span<const std::int64_t> ids, std::int64_t first) {
  std::ranges::copy(ids, out.begin() + row * width + first);
}

}  // namespace

std::vector<std::vector<std::int64_t>> epoch_batches(std::span<const TokenPair> pairs,
                                                     const BatchOptions& options,
                                                     std::uint64_t seed, std::int64_t epoch) {
  check(pairs, options);
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
    const std::int64_t width =
        std::max(length(pair(i).source) + (options.source_eos ? 1 : 0), length(pair(i).target) + 1);
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

Batch make_source_batch(std::span<const std::vector<std::int64_t>> sources,
                        const BatchOptions& options) {
  if (sources.empty()) throw ValueError(kBatchesOp, "a batch of no sentences");
  Batch b;
  b.size = static_cast<std::int64_t>(sources.size());
  const std::int64_t extra = options.source_eos ? 1 : 0;
  for (const auto& ids : sources) {
    b.source_length = std::max(b.source_length, length(ids) + extra);
    b.source_tokens += length(ids) + extra;
  }
  b.source.assign(static_cast<std::size_t>(b.size * b.source_length), kPad);
  for (std::int64_t r = 0; r < b.size; ++r) {
    const auto& ids = sources[static_cast<std::size_t>(r)];
    put_row(b.source, r, b.source_length, ids, 0);
    if (options.source_eos) {
      b.source[static_cast<std::size_t>(r * b.source_length + length(ids))] = kEos;
    }
    b.index.push_back(r);
  }
  return b;
}

Batch make_batch(std::span<const TokenPair> pairs, std::span<const std::int64_t> index,
                 const BatchOptions& options) {
  std::vector<std::vector<std::int64_t>> sources;
  std::int64_t longest = 0;
  for (std::int64_t i : index) {
    if (i < 0 || i >= static_cast<std::int64_t>(pairs.size())) {
      throw IndexError(kBatchesOp, fmt::format("pair {} outside 0..{}", i,
                                               static_cast<std::int64_t>(pairs.size()) - 1));
    }
    sources.push_back(pairs[static_cast<std::size_t>(i)].source);
    longest = std::max(longest, length(pairs[static_cast<std::size_t>(i)].target));
  }
  Batch b = make_source_batch(sources, options);
  b.index.assign(index.begin(), index.end());
  b.target_length = longest + 1;
  b.target_in.assign(static_cast<std::size_t>(b.size * b.target_length), kPad);
  b.target_out = b.target_in;
  for (std::int64_t r = 0; r < b.size; ++r) {
    const auto& ids = pairs[static_cast<std::size_t>(index[static_cast<std::size_t>(r)])].target;
    b.target_in[static_cast<std::size_t>(r * b.target_length)] = kBos;
    put_row(b.target_in, r, b.target_length, ids, 1);
    put_row(b.target_out, r, b.target_length, ids, 0);
    b.target_out[static_cast<std::size_t>(r * b.target_length + length(ids))] = kEos;
    b.target_tokens += length(ids) + 1;
  }
  return b;
}

}  // namespace glim
