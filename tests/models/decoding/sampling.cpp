// Sampling against the exact distributions: by equality where they can be computed by hand, by
// chi-square where numbers are drawn.
#include "models/decoding/sampling.hpp"

#include <cmath>
#include <limits>

#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_sampling {

using namespace glim;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

Tensor logs(const std::vector<double>& p) {
  std::vector<double> l;
  for (double x : p) l.push_back(std::log(x));
  return from_vector(l, {static_cast<Index>(l.size())});
}

SamplingOptions options(double temperature, Index top_k = 0, double top_p = 1) {
  SamplingOptions o;
  o.temperature = temperature;
  o.top_k = top_k;
  o.top_p = top_p;
  o.never = {};
  return o;
}

void check_equal(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("token " << i);
    CHECK(a[i] == Approx(b[i]).margin(1e-14));
  }
}

// Σ (observed - expected)²/expected over the tokens that can be drawn.
double chi_square(const std::vector<double>& p, const std::vector<Index>& counts, Index draws) {
  double sum = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    double expected = p[v] * static_cast<double>(draws);
    if (expected == 0) {
      CHECK(counts[v] == 0);
      continue;
    }
    double d = static_cast<double>(counts[v]) - expected;
    sum += d * d / expected;
  }
  return sum;
}

}  // namespace

TEST_CASE("temperature, top-k and top-p give the distributions of their definitions",
          "[sampling]") {
  std::vector<double> p{0.1, 0.4, 0.05, 0.25, 0.2};
  Tensor l = logs(p);
  check_equal(sampling_probs(l, options(1)), p);
  // Only differences matter: unnormalised logits do as well.
  check_equal(sampling_probs(add(l, scalar(7, DType::Float64)), options(1)), p);
  // Temperature 1/2 squares, 2 takes roots.
  double squares = 0, roots = 0;
  for (double x : p) {
    squares += x * x;
    roots += std::sqrt(x);
  }
  std::vector<double> sharp, flat;
  for (double x : p) {
    sharp.push_back(x * x / squares);
    flat.push_back(std::sqrt(x) / roots);
  }
  check_equal(sampling_probs(l, options(0.5)), sharp);
  check_equal(sampling_probs(l, options(2)), flat);
  check_equal(sampling_probs(l, options(1e-300)), {0, 1, 0, 0, 0});
  check_equal(sampling_probs(l, options(0)), {0, 1, 0, 0, 0});
  check_equal(sampling_probs(l, options(1, 2)), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  check_equal(sampling_probs(l, options(1, 1)), {0, 1, 0, 0, 0});
  check_equal(sampling_probs(l, options(1, 5)), p);
  // 0.4 + 0.25 = 0.65 does not reach 0.7, 0.85 does.
  check_equal(sampling_probs(l, options(1, 0, 0.7)), {0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85});
  check_equal(sampling_probs(l, options(1, 0, 0.3)), {0, 1, 0, 0, 0});
  check_equal(sampling_probs(l, options(1, 0, 1e-9)), {0, 1, 0, 0, 0});
  // top-p counts what top-k left: 0.4/0.85 and 0.25/0.85 reach 0.75 together, 0.65 would not.
  check_equal(sampling_probs(l, options(1, 3, 0.75)), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  // Equals are ordered by token.
  Tensor equal = logs({0.25, 0.25, 0.25, 0.25});
  check_equal(sampling_probs(equal, options(1, 2)), {0.5, 0.5, 0, 0});
  check_equal(sampling_probs(equal, options(1, 0, 0.5)), {0.5, 0.5, 0, 0});
  SamplingOptions o = options(1);
  o.never = {1, 3, 99};
  check_equal(sampling_probs(l, o), {0.1 / 0.35, 0, 0.05 / 0.35, 0, 0.2 / 0.35});
  o.greedy = true;
  check_equal(sampling_probs(l, o), {0, 0, 0, 0, 1});
  Tensor some = from_vector(std::vector<double>{kNever, 0, kNever}, {3});
  check_equal(sampling_probs(some, options(0.3, 2, 0.5)), {0, 1, 0});
}

TEST_CASE("tokens are drawn with their probabilities", "[sampling]") {
  constexpr Index kDraws = 20000;
  std::vector<double> p{0.02, 0.3, 0.08, 0.25, 0.15, 0.1, 0.06, 0.04};
  for (const SamplingOptions& o : {options(1), options(0.7), options(1.6), options(1, 4),
                                   options(1, 0, 0.8), options(0.9, 6, 0.9)}) {
    INFO("temperature " << o.temperature << " top-k " << o.top_k << " top-p " << o.top_p);
    std::vector<double> exact = sampling_probs(logs(p), o);
    std::vector<Index> counts(p.size());
    for (Index i = 0; i < kDraws; ++i)
      ++counts[static_cast<std::size_t>(draw(logs(p), o, {11, 0}, static_cast<std::uint64_t>(i)))];
    // 7 degrees of freedom at most: 24.3 is exceeded with probability 0.001.
    CHECK(chi_square(exact, counts, kDraws) < 24.3);
    // The test can tell: the same counts do not fit another distribution.
    std::vector<double> other = exact;
    std::swap(other[1], other[3]);
    CHECK(chi_square(other, counts, kDraws) > 24.3);
  }
}

TEST_CASE("pairs of neighbouring draws are independent", "[sampling]") {
  std::vector<double> p{0.5, 0.3, 0.2};
  std::uint64_t drawn = 0;
  auto next = [&] { return draw(logs(p), options(1), {12, 3}, drawn++); };
  std::vector<Index> counts(9);
  std::vector<double> pairs;
  for (double a : p)
    for (double b : p) pairs.push_back(a * b);
  constexpr Index kPairs = 20000;
  for (Index i = 0; i < kPairs; ++i) {
    Index a = next(), b = next();
    ++counts[static_cast<std::size_t>(3 * a + b)];
  }
  CHECK(chi_square(pairs, counts, kPairs) < 26.1);  // 8 degrees of freedom, probability 0.001
}

TEST_CASE("a seed and a stream name one sequence of draws", "[sampling]") {
  auto drawn = [](RandomKey key) {
    std::vector<Index> list;
    for (std::uint64_t i = 0; i < 50; ++i)
      list.push_back(draw(logs({0.3, 0.3, 0.4}), options(1), key, i));
    return list;
  };
  CHECK(drawn({1, 0}) == drawn({1, 0}));
  CHECK(drawn({1, 0}) != drawn({2, 0}));
  CHECK(drawn({1, 0}) != drawn({1, 1}));
}

TEST_CASE("options of sampling outside their domain are named", "[sampling]") {
  auto refused = [](const SamplingOptions& o, const std::string& part) {
    std::string text = error_of<ValueError>([&] { check(o, 10); });
    INFO(text);
    CHECK(contains(text, part));
    CHECK_THROWS_AS(sampling_probs(zeros({10}), o), ValueError);
  };
  refused(options(-0.5), "temperature: -0.5 is not a finite number from 0 on");
  refused(options(std::nan("")), "temperature");
  refused(options(std::numeric_limits<double>::infinity()), "temperature");
  refused(options(1, 11), "top-k: 11 is outside 0 (all) to 10");
  refused(options(1, -1), "top-k: -1");
  refused(options(1, 0, 0), "top-p: 0 is outside (0, 1]");
  refused(options(1, 0, 1.01), "top-p: 1.01");
  refused(options(1, 0, std::nan("")), "top-p");
  check(options(1e-3, 10, 1), 10);
  SamplingOptions all = options(1);
  all.never = {0, 1};
  CHECK_THROWS_AS(sampling_probs(zeros({2}), all), NonFiniteError);
  CHECK_THROWS_AS(sampling_probs(full({2}, std::nan("")), options(1)), NonFiniteError);
  CHECK_THROWS_AS(sampling_probs(zeros({1, 2}), options(1)), ShapeError);
}

TEST_CASE("generation stops when it is told to", "[sampling]") {
  struct Counting final : StepDecoder {
    Tensor step(const std::vector<Index>& tokens) override {  // always the next number
      Tensor l = full({1, 12}, kNever, DType::Float64);
      l.data<double>()[tokens[0] + 1] = 0;
      return l;
    }
    void select_rows(const std::vector<Index>&) override {}
  } decoder;
  CHECK(generate(decoder, 4, 3, options(1), {1, 1}) == std::vector<Index>{5, 6, 7});
  CHECK(generate(decoder, 4, 9, options(1), {1, 1}, [](Index t) { return t < 6; }) ==
        std::vector<Index>{5, 6});
  CHECK(generate(decoder, 4, 0, options(1), {1, 1}).empty());
  CHECK_THROWS_AS(generate(decoder, 4, -5, options(1), {1, 1}), ValueError);
}

}  // namespace test_sampling
