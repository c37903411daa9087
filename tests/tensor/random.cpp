#include "tensor/random.hpp"

#include <cmath>
#include <map>
#include <set>

#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_random {

using namespace glim;

namespace {
constexpr DType F32 = DType::Float32, F64 = DType::Float64;
}

TEST_CASE("Philox gives the known answers of Random123", "[random]") {
  using Words = std::array<std::uint32_t, 4>;
  // kat_vectors, philox4x32-10: counter, key, result. The counter is (block, stream).
  CHECK(philox({0, 0}, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({UINT64_MAX, UINT64_MAX}, UINT64_MAX) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x299f31d0a4093822, 0x0370734413198a2e}, 0x85a308d3243f6a88) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform_at has 53 bits of two words", "[random]") {
  auto w = philox({7, 3}, 5);
  auto unit = [](std::uint32_t low, std::uint32_t high) {
    return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
  };
  CHECK(uniform_at({7, 3}, 10) == unit(w[0], w[1]));
  CHECK(uniform_at({7, 3}, 11) == unit(w[2], w[3]));
}

TEST_CASE("moments and bounds", "[random]") {
  Index n = 400000;
  double scale =
      1 / std::sqrt(static_cast<double>(n));  // standard error of a mean of unit variance
  for (DType t : {F32, F64}) {
    Tensor u = uniform({n}, -1, 3, {1, 1}, t).to(F64);
    CHECK(std::abs(mean(u).item() - 1) < 5 * 1.155 * scale);
    CHECK(std::abs(var(u).item() - 16.0 / 12) < 0.02);
    CHECK(min(u).item() >= -1);
    CHECK(max(u).item() < 3);
    Tensor z = normal({n}, 2, 3, {1, 2}, t).to(F64);
    Tensor c = mul(add(z, -2), 1.0 / 3);
    CHECK(std::abs(mean(c).item()) < 5 * scale);
    CHECK(std::abs(var(c).item() - 1) < 5 * std::sqrt(2.0) * scale);
    CHECK(std::abs(mean(pow(c, 3)).item()) < 5 * std::sqrt(15.0) * scale);
    CHECK(std::abs(mean(pow(c, 4)).item() - 3) < 5 * std::sqrt(96.0) * scale);
    // Neighbours, which share a block, are uncorrelated.
    CHECK(std::abs(mean(mul(slice(c, 0, 0, n, 2), slice(c, 0, 1, n, 2))).item()) < 10 * scale);
  }
  for (double p : {0.1, 0.5, 0.9}) {
    Tensor b = bernoulli({n}, p, {1, 3});
    CHECK(std::abs(mean(b.to(F64)).item() - p) < 5 * 0.5 * scale);
  }
  CHECK(sum(bernoulli({1000}, 0, {1, 4})).item() == 0);
  CHECK(sum(bernoulli({1000}, 1, {1, 4})).item() == 1000);
  Tensor i = random_integers({n}, -3, 4, {1, 5});
  for (Index v = -3; v < 4; ++v)
    CHECK(std::abs(mean(equal(i, static_cast<double>(v)).to(F64)).item() - 1.0 / 7) <
          5 * 0.35 * scale);
}

TEST_CASE("float32 and float64 draw the same numbers", "[random]") {
  CHECK(same_bits(uniform({1000}, 0, 1, {3, 1}, F64).to(F32), uniform({1000}, 0, 1, {3, 1}, F32)));
  CHECK(same_bits(normal({999}, 0, 1, {3, 1}, F64).to(F32), normal({999}, 0, 1, {3, 1}, F32)));
}

TEST_CASE("the upper bound of uniform is never reached", "[random]") {
  // Number 805 of this stream is within 2^-25 of 1, so float32 rounds it to 1.
  RandomKey key{22905, 0};
  REQUIRE(static_cast<float>(uniform_at(key, 805)) == 1.0f);
  CHECK(uniform({806}, 0, 1, key, F32).at<float>({805}) < 1.0f);
  CHECK(uniform({806}, -1, 0, key, F32).at<float>({805}) < 0.0f);
  CHECK(uniform({806}, 2, 2, key, F32).at<float>({805}) == 2.0f);
}

TEST_CASE("streams, seeds and positions differ; the same key repeats", "[random]") {
  Tensor a = uniform({1000}, 0, 1, {1, 1});
  CHECK(same_bits(a, uniform({1000}, 0, 1, {1, 1})));
  CHECK_FALSE(same_bits(a, uniform({1000}, 0, 1, {1, 2})));
  CHECK_FALSE(same_bits(a, uniform({1000}, 0, 1, {2, 1})));
  CHECK(same_bits(a, reshape(uniform({10, 100}, 0, 1, {1, 1}), {1000})));
  std::set<double> distinct;
  for (std::uint64_t i = 0; i < 10000; ++i) distinct.insert(uniform_at({1, 1}, i));
  CHECK(distinct.size() == 10000);
}

TEST_CASE("the generator hands out streams and can be restored", "[random]") {
  seed(42);
  RandomKey first = generator().next(), second = generator().next();
  CHECK(first.seed == 42);
  CHECK(first.stream != second.stream);
  Generator saved(0);
  saved.set_state(generator().seed(), generator().stream());
  CHECK(saved.next().stream == generator().next().stream);
  seed(42);
  CHECK(generator().next().stream == first.stream);
}

TEST_CASE("a permutation is one, and every place is reached", "[random]") {
  for (Index n : {0, 1, 2, 17, 1000}) {
    std::vector<Index> p = permutation(n, {5, 5}).to_vector<Index>();
    std::sort(p.begin(), p.end());
    CHECK(p == arange(0, static_cast<double>(n)).to_vector<Index>());
  }
  // Each of the 24 orders of 4 elements, about equally often.
  std::map<std::vector<Index>, int> seen;
  for (std::uint64_t s = 0; s < 24000; ++s) ++seen[permutation(4, {6, s}).to_vector<Index>()];
  CHECK(seen.size() == 24);
  for (const auto& [order, count] : seen) CHECK(std::abs(count - 1000) < 5 * 31.0);
  CHECK_THROWS_AS(permutation(-1, {1, 1}), ValueError);
}

TEST_CASE("integers of any range", "[random]") {
  Tensor wide = random_integers({1000}, INT64_MIN, INT64_MAX, {8, 1});
  CHECK(sum(less(wide, 0)).item() > 400);
  CHECK(sum(greater(wide, 0)).item() > 400);
  CHECK(elements(random_integers({5}, 7, 8, {8, 2})) == std::vector<double>(5, 7));
  // A range beyond 2^53: low bits are random as well.
  Tensor odd = random_integers({1000}, 0, Index{1} << 60, {8, 3});
  Index ones_in_last_bit = 0;
  for (Index v : odd.to_vector<Index>()) ones_in_last_bit += v & 1;
  CHECK(ones_in_last_bit > 400);
  CHECK(ones_in_last_bit < 600);
}

TEST_CASE("random numbers do not depend on the number of threads", "[random]") {
  CHECK(same_for_any_threads([] { return uniform({50001}, 0, 1, {9, 1}); }));
  CHECK(same_for_any_threads([] { return normal({50001}, 0, 1, {9, 2}); }));
  CHECK(same_for_any_threads([] { return bernoulli({50001}, 0.3, {9, 3}); }));
  CHECK(same_for_any_threads([] { return random_integers({50001}, 0, 9, {9, 4}); }));
}

TEST_CASE("arguments outside their domain", "[random]") {
  RandomKey key{1, 1};
  double nan = std::nan("");
  CHECK(error_of<ValueError>([&] { uniform({1}, 1, 0, key); }) ==
        "uniform: the lower bound is above the upper one");
  CHECK_THROWS_AS(uniform({1}, nan, 0, key), ValueError);
  CHECK_THROWS_AS(normal({1}, 0, -1, key), ValueError);
  CHECK_THROWS_AS(bernoulli({1}, 1.5, key), ValueError);
  CHECK_THROWS_AS(bernoulli({1}, nan, key), ValueError);
  CHECK_THROWS_AS(random_integers({1}, 3, 3, key), ValueError);
  CHECK_THROWS_AS(uniform({1}, 0, 1, key, DType::Int64), DTypeError);
  CHECK_THROWS_AS(normal({-1}, 0, 1, key), ShapeError);
}

}  // namespace test_random
