#include "tools/data/corpus/batches.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/data/corpus/random.hpp"

namespace test_batches {

using namespace glim;
using Ids = std::vector<std::int64_t>;

namespace {

// Lengths spread as in Multi30k: a mean of about 13 tokens, a standard deviation of 4, a long tail,
// and the two sides within a few tokens of each other.
std::vector<TokenPair> captions(std::size_t count) {
  SplitMix64 random(30);
  auto uniform = [&] { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; };
  auto normal = [&] {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307 * uniform());
  };
  std::vector<TokenPair> pairs(count);
  for (auto& pair : pairs) {
    const double target = std::exp(std::log(12.4) + 0.3 * normal());
    const auto t = static_cast<std::size_t>(std::clamp(target, 3.0, 41.0));
    const auto s = static_cast<std::size_t>(std::clamp(target * 0.95 + 2.0 * normal(), 2.0, 46.0));
    pair.source.resize(s);
    pair.target.resize(t);
    for (auto& id : pair.source) id = static_cast<std::int64_t>(4 + random.below(5000));
    for (auto& id : pair.target) id = static_cast<std::int64_t>(4 + random.below(5000));
  }
  return pairs;
}

BatchOptions by_tokens(std::int64_t n) {
  BatchOptions o;
  o.max_tokens = n;
  return o;
}

}  // namespace

TEST_CASE("a batch is padded at the right and shifted right", "[batches]") {
  const std::vector<TokenPair> pairs = {{{10, 11, 12}, {20}}, {{13}, {21, 22}}};
  const Batch b = make_batch(pairs, Ids{1, 0});
  CHECK(b.source.shape() == Shape{2, 4});
  CHECK(b.target_in.shape() == Shape{2, 3});
  CHECK(b.source.to_vector<Index>() == Ids{13, 2, 0, 0, 10, 11, 12, 2});
  CHECK(b.target_in.to_vector<Index>() == Ids{1, 21, 22, 1, 20, 0});
  CHECK(b.target_out.to_vector<Index>() == Ids{21, 22, 2, 20, 2, 0});
  CHECK_THROWS_AS(make_batch(pairs, Ids{2}), IndexError);
  CHECK_THROWS_AS(make_batch(pairs, Ids{-1}), IndexError);
}

TEST_CASE("an epoch holds each pair once, within the limits, with little padding", "[batches]") {
  const auto pairs = captions(29000);
  for (const std::int64_t limit : {2000, 2500, 4000}) {
    const auto epoch = epoch_batches(pairs, by_tokens(limit), 1, 1);
    std::vector<int> seen(pairs.size(), 0);
    std::int64_t real = 0, padded = 0, source_real = 0, source_padded = 0;
    for (const auto& index : epoch) {
      for (std::int64_t i : index) {
        const auto at = static_cast<std::size_t>(i);
        ++seen[at];
        real += std::ssize(pairs[at].target) + 1;
        source_real += std::ssize(pairs[at].source) + 1;
      }
      const Batch b = make_batch(pairs, index);
      REQUIRE(std::max(b.source.numel(), b.target_in.numel()) <= limit);
      padded += b.target_in.numel();
      source_padded += b.source.numel();
    }
    CHECK(std::ranges::all_of(seen, [](int n) { return n == 1; }));
    const double share = 1.0 - static_cast<double>(real) / static_cast<double>(padded);
    const double source_share =
        1.0 - static_cast<double>(source_real) / static_cast<double>(source_padded);
    INFO("limit " << limit << ": padding " << share << " of target, " << source_share
                  << " of source");
    CHECK(share < 0.02);
    CHECK(source_share < 0.1);
    // Batches are full: more than nine tenths of the limit is used.
    CHECK(static_cast<double>(epoch.size()) * static_cast<double>(limit) * 0.9 <
          static_cast<double>(std::max(padded, source_padded)));
  }
}

TEST_CASE("an epoch is a function of data, options, seed and epoch", "[batches]") {
  const auto pairs = captions(3000);
  const BatchOptions o = by_tokens(1000);
  const auto first = epoch_batches(pairs, o, 7, 3);
  CHECK(first == epoch_batches(pairs, o, 7, 3));
  CHECK(first != epoch_batches(pairs, o, 7, 4));
  CHECK(first != epoch_batches(pairs, o, 8, 3));

  // The order of lengths is shuffled, and a pair's company changes from epoch to epoch.
  auto target_length = [&](const Ids& batch) {
    return pairs[static_cast<std::size_t>(batch[0])].target.size();
  };
  std::size_t rises = 0;
  for (std::size_t i = 1; i < first.size(); ++i) {
    rises += target_length(first[i]) > target_length(first[i - 1]);
  }
  CHECK(rises * 10 > first.size() * 3);
  CHECK(rises * 10 < first.size() * 7);
  auto company = [](const std::vector<Ids>& epoch) {
    std::set<Ids> sorted;
    for (Ids batch : epoch) {
      std::ranges::sort(batch);
      sorted.insert(batch);
    }
    return sorted;
  };
  const auto one = company(first), two = company(epoch_batches(pairs, o, 7, 4));
  std::vector<Ids> both;
  std::ranges::set_intersection(one, two, std::back_inserter(both));
  CHECK(both.size() * 5 < one.size());  // the longest and shortest pairs have no choice

  BatchOptions fixed = o;
  fixed.shuffle = false;
  CHECK(epoch_batches(pairs, fixed, 1, 1) == epoch_batches(pairs, fixed, 2, 9));
}

TEST_CASE("batches by sentences, and pairs beyond the limit", "[batches]") {
  const auto pairs = captions(100);
  BatchOptions o;
  o.max_sentences = 16;
  const auto epoch = epoch_batches(pairs, o, 1, 1);
  CHECK(epoch.size() == 7);
  std::multiset<std::size_t> sizes;
  for (const auto& batch : epoch) sizes.insert(batch.size());
  CHECK(sizes == std::multiset<std::size_t>{4, 16, 16, 16, 16, 16, 16});

  o.max_tokens = 30;  // both limits hold, and a longer pair is alone
  for (const auto& index : epoch_batches(pairs, o, 1, 1)) {
    const Batch b = make_batch(pairs, index);
    REQUIRE((index.size() == 1 || std::max(b.source.numel(), b.target_in.numel()) <= 30));
  }
  CHECK(epoch_batches(std::vector<TokenPair>{{Ids(500, 5), {6}}}, by_tokens(10), 1, 1).size() == 1);
}

TEST_CASE("shuffles are fair and defined to the bit", "[random]") {
  SplitMix64 random(42);
  // SplitMix64's published first outputs for seed 1234567, as its mixing function gives them.
  std::uint64_t state = 1234567;
  const std::uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                    9817491932198370423u};
  for (std::uint64_t e : expected) {
    state += 0x9e3779b97f4a7c15u;
    CHECK(SplitMix64::mix(state) == e);
  }
  CHECK(SplitMix64(1, 0).next() != SplitMix64(1, 1).next());
  CHECK(SplitMix64(1, 0).next() != SplitMix64(2, 0).next());

  std::map<std::vector<int>, int> orders;
  for (int round = 0; round < 24000; ++round) {
    std::vector<int> items = {1, 2, 3, 4};
    shuffle(items, random);
    ++orders[items];
  }
  CHECK(orders.size() == 24);
  double chi2 = 0;  // 23 degrees of freedom: above 49.7 once in a thousand
  for (const auto& [order, n] : orders) chi2 += (n - 1000.0) * (n - 1000.0) / 1000.0;
  CHECK(chi2 < 49.7);
  for (std::uint64_t n : {1u, 2u, 3u, 1000u}) CHECK(random.below(n) < n);
}

}  // namespace test_batches
