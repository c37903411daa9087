#include "tensor/ops/reduce.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/tensor/common.hpp"

namespace test_reduce {

using namespace glim;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

Dims axes_of(int mask, int rank) {
  Dims axes;
  for (int i = 0; i < rank; ++i)
    if (mask >> i & 1) axes.push_back(i);
  return axes;
}

Shape reduced_shape(const Shape& s, int mask, bool keepdim) {
  Shape r;
  for (int i = 0; i < s.rank(); ++i) {
    if (!(mask >> i & 1)) r.push_back(s[i]);
    if ((mask >> i & 1) && keepdim) r.push_back(1);
  }
  return r;
}

void check_reduction(const std::function<Tensor(const Tensor&, const Dims&, bool)>& op,
                     const std::function<double(const std::vector<double>&)>& f,
                     std::initializer_list<DType> dtypes, bool needs_elements) {
  Dice dice(7);
  int checked = 0;
  for (int round = 0; round < 120; ++round) {
    DType t = dtypes.begin()[static_cast<std::size_t>(round) % dtypes.size()];
    Tensor x = random_view(dice, t);
    double tolerance = t == DType::Float32 ? 1e-5 : 1e-13;
    for (int mask = 0; mask < 1 << x.rank(); ++mask) {
      if (mask == 0 && x.rank() > 0) continue;  // no axes means all
      auto expected = groups(x, mask);
      bool empty_groups = !expected.empty() && expected[0].empty();
      for (bool keepdim : {false, true}) {
        Dims axes = axes_of(mask, x.rank());
        if (mask == (1 << x.rank()) - 1 && keepdim) axes = {};
        if (empty_groups && needs_elements) {
          CHECK_THROWS_AS(op(x, axes, keepdim), ValueError);
          continue;
        }
        Tensor y = op(x, axes, keepdim);
        REQUIRE(y.shape() == reduced_shape(x.shape(), mask, keepdim));
        for (Index i = 0; i < y.numel(); ++i) {
          double e = f(expected[static_cast<std::size_t>(i)]), v = element(y, i);
          INFO(x.kind() << " over " << to_string(axes) << ": " << v << ", not " << e);
          REQUIRE((std::isnan(e)   ? std::isnan(v)
                   : std::isinf(e) ? v == e
                                   : std::abs(v - e) <= tolerance * (1 + std::abs(e))));
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 500);
}

double total(const std::vector<double>& v) {
  double s = 0;
  for (double e : v) s += e;
  return s;
}
double average(const std::vector<double>& v) { return total(v) / static_cast<double>(v.size()); }
double variance(const std::vector<double>& v, double correction) {
  double m = average(v), s = 0;
  for (double e : v) s += (e - m) * (e - m);
  return s / std::max(0.0, static_cast<double>(v.size()) - correction);
}

constexpr DType F32 = DType::Float32, F64 = DType::Float64, I64 = DType::Int64, B = DType::Bool;

}  // namespace

TEST_CASE("reductions over every subset of axes of any layout", "[reduce]") {
  check_reduction([](auto& x, auto& a, bool k) { return sum(x, a, k); }, total, {F32, F64, I64, B},
                  false);
  check_reduction([](auto& x, auto& a, bool k) { return mean(x, a, k); }, average, {F32, F64},
                  false);
  for (double c : {0.0, 1.0})
    check_reduction([c](auto& x, auto& a, bool k) { return var(x, a, c, k); },
                    [c](auto& v) { return variance(v, c); }, {F32, F64}, false);
  check_reduction([](auto& x, auto& a, bool k) { return max(x, a, k); },
                  [](auto& v) { return *std::max_element(v.begin(), v.end()); }, {F32, F64, I64, B},
                  true);
  check_reduction([](auto& x, auto& a, bool k) { return min(x, a, k); },
                  [](auto& v) { return *std::min_element(v.begin(), v.end()); }, {F32, F64, I64, B},
                  true);
  check_reduction([](auto& x, auto& a, bool k) { return any(x, a, k); },
                  [](auto& v) { return total(v) > 0 ? 1.0 : 0.0; }, {B}, false);
  check_reduction([](auto& x, auto& a, bool k) { return all(x, a, k); },
                  [](auto& v) { return total(v) == static_cast<double>(v.size()) ? 1.0 : 0.0; },
                  {B}, false);
}

TEST_CASE("reductions along one axis", "[reduce]") {
  Dice dice(8);
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    Tensor x = random_view(dice, round % 3 == 0 ? F32 : round % 3 == 1 ? F64 : I64);
    for (int axis = 0; axis < x.rank(); ++axis) {
      auto expected = groups(x, 1 << axis);
      if (!expected.empty() && expected[0].empty()) {
        CHECK_THROWS_AS(argmax(x, axis), ValueError);
        continue;
      }
      for (bool keepdim : {false, true}) {
        Tensor high = argmax(x, axis, keepdim), low = argmin(x, axis - x.rank(), keepdim);
        REQUIRE(high.shape() == reduced_shape(x.shape(), 1 << axis, keepdim));
        REQUIRE(high.dtype() == I64);
        for (Index i = 0; i < high.numel(); ++i, ++checked) {
          auto& v = expected[static_cast<std::size_t>(i)];
          REQUIRE(element(high, i) ==
                  static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin()));
          REQUIRE(element(low, i) ==
                  static_cast<double>(std::min_element(v.begin(), v.end()) - v.begin()));
        }
        if (x.dtype() == I64) continue;
        Tensor l = logsumexp(x, axis, keepdim);
        for (Index i = 0; i < l.numel(); ++i) {
          double e = log_sum_exp(expected[static_cast<std::size_t>(i)]);
          REQUIRE(std::abs(element(l, i) - e) <=
                  (x.dtype() == F32 ? 2e-6 : 1e-14) * (1 + std::abs(e)));
        }
      }
    }
  }
  CHECK(checked > 500);
}

TEST_CASE("NaN wins in max and min, and is found first", "[reduce]") {
  for (DType t : {F32, F64}) {
    Tensor x = tensor({1, kNaN, 3, kNaN, kInf, -kInf}, t);
    CHECK(std::isnan(max(x).item()));
    CHECK(std::isnan(min(x).item()));
    CHECK(argmax(x, 0).item() == 1);
    CHECK(argmin(x, 0).item() == 1);
    CHECK(std::isnan(sum(x).item()));
    CHECK(max(slice(x, 0, 4, 6)).item() == kInf);
    CHECK(max(tensor({-kInf, -kInf}, t)).item() == -kInf);
    for (Index at : {0, 5, 40, 99}) {  // wherever it is in a longer row
      Tensor row = random_tensor({100}, t, 3);
      slice(row, 0, at, at + 1).fill_(kNaN);
      CHECK(std::isnan(max(row).item()));
      CHECK(argmax(row, 0).item() == static_cast<double>(at));
      for (double v : elements(softmax(row))) CHECK_FALSE(std::isfinite(v));
    }
  }
  for (DType t : {F32, F64})
    for (double sign : {1.0, -1.0}) {  // of zeros of both signs, the first
      Tensor row = full({40}, -1, t);
      slice(row, 0, 5, 6).fill_(-0.0 * sign);
      slice(row, 0, 16, 17).fill_(0 * sign);
      CHECK(std::signbit(max(row).item()) == (sign > 0));
      CHECK(std::signbit(min(neg(row)).item()) == (sign < 0));
    }
  CHECK(argmax(tensor({3, 7, 7, 1}), 0).item() == 1);
  CHECK(argmin(tensor({3, 1, 7, 1}), 0).item() == 1);
}

TEST_CASE("reductions of nothing", "[reduce]") {
  Tensor none = zeros({0, 3});
  CHECK(sum(none).item() == 0);
  CHECK(elements(sum(none, {0})) == std::vector<double>(3, 0));
  CHECK(sum(none, {1}).shape() == Shape{0});
  CHECK(std::isnan(mean(none).item()));
  CHECK(std::isnan(var(none).item()));
  CHECK(std::isnan(var(ones({1})).item()));
  CHECK(max(none, {1}).shape() == Shape{0});
  CHECK(error_of<ValueError>([&] { max(none); }) ==
        "max: is not defined for no elements\n  x (0, 3) float32");
  CHECK_THROWS_AS(argmin(none, 0), ValueError);
  CHECK(softmax(none).shape() == Shape{0, 3});
  CHECK(softmax(none, 0).shape() == Shape{0, 3});
  CHECK(elements(logsumexp(none, 0)) == std::vector<double>(3, -kInf));
  CHECK(cumsum(none, 0).shape() == Shape{0, 3});
  CHECK(all(zeros({0}, B)).item() == 1);
  CHECK(any(zeros({0}, B)).item() == 0);
}

TEST_CASE("long sums stay accurate", "[reduce]") {
  Index n = 1'000'000;
  Tensor x = full({n}, 0.1);
  double exact = static_cast<double>(n) * static_cast<double>(0.1f);
  CHECK(std::abs(sum(x).item() - exact) <= 2e-6 * exact);
  Tensor rows = full({n / 4, 4}, 0.1);
  for (Index c = 0; c < 4; ++c)
    CHECK(std::abs(element(sum(rows, {0}), c) - exact / 4) <= 2e-6 * exact);
  CHECK(std::abs(mean(add(random_tensor({n}, F32, 1), 1e4)).item() - 1e4) < 1e-2);
  Tensor p = softmax(mul(random_tensor({3, 50000}, F32, 2), 0.01));
  for (Index r = 0; r < 3; ++r) CHECK(std::abs(sum(select(p, 0, r).to(F64)).item() - 1) < 2e-6);
}

TEST_CASE("int64 sums wrap around", "[reduce]") {
  Tensor x = from_vector<Index>({INT64_MAX, 1, 5}, {3});
  CHECK(sum(x).at<Index>({}) == INT64_MIN + 5);
  CHECK(cumsum(x, 0).to_vector<Index>() == std::vector<Index>{INT64_MAX, INT64_MIN, INT64_MIN + 5});
  CHECK(sum(broadcast_to(reshape(x, {3, 1}), {3, 2}).clone(), {0}).to_vector<Index>() ==
        std::vector<Index>(2, INT64_MIN + 5));
}

TEST_CASE("var of large numbers does not cancel", "[reduce]") {
  Tensor x = add(random_tensor({1000}, F64, 5), 1e8);
  std::vector<double> v = elements(x);
  CHECK(std::abs(var(x).item() - variance(v, 1)) < 1e-6);
}

TEST_CASE("cumsum along every axis", "[reduce]") {
  Dice dice(9);
  for (int round = 0; round < 150; ++round) {
    DType t = static_cast<DType>(round % 4);
    Tensor x = random_view(dice, t);
    for (int axis = 0; axis < x.rank(); ++axis) {
      Tensor y = cumsum(x, axis);
      REQUIRE(y.shape() == x.shape());
      REQUIRE(y.dtype() == (t == B ? I64 : t));
      for (Index i = 0; i < x.size(axis); ++i) {
        Tensor expected = sum(slice(x, axis, 0, i + 1), {axis});
        std::vector<double> a = elements(select(y, axis, i)), b = elements(expected);
        for (std::size_t k = 0; k < a.size(); ++k)
          REQUIRE(std::abs(a[k] - b[k]) <= 1e-5 * (1 + std::abs(b[k])));
      }
    }
  }
  CHECK_THROWS_AS(cumsum(scalar(1), 0), IndexError);
}

TEST_CASE("a long cumsum is exact to its last digits", "[reduce]") {
  const Index n = 10'000'000;
  for (DType t : {F32, F64}) {
    const double tenth = full({1}, 0.1, t).to(F64).item();
    Tensor y = cumsum(full({n}, 0.1, t), 0);
    for (Index i : {Index{1}, Index{1000}, Index{1025}, n}) {
      INFO(name_of(t) << " " << i);
      double exact = static_cast<double>(i) * tenth, got = select(y, 0, i - 1).to(F64).item();
      CHECK(std::abs(got - exact) <= exact * (t == F32 ? 6e-8 : 1e-12));
    }
  }
  Tensor infinite = cumsum(tensor({1, kInf, 2, -kInf, 3}, F32), 0);
  CHECK(elements(narrow(infinite, 0, 0, 3)) == std::vector<double>{1, kInf, kInf});
  CHECK(std::isnan(elements(infinite)[4]));
}

TEST_CASE("cumsum from the far end", "[reduce]") {
  Tensor x = tensor({1e8, 1, 2, 4}, F32);
  CHECK(elements(cumsum(x, 0, true)) == std::vector<double>{1e8 + 8, 7, 6, 4});
  Tensor table = from_vector<Index>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(cumsum(table, 0, true).to_vector<Index>() == std::vector<Index>{5, 7, 9, 4, 5, 6});
  CHECK(cumsum(table, 1, true).to_vector<Index>() == std::vector<Index>{6, 5, 3, 15, 11, 6});
}

TEST_CASE("mean and var divide", "[reduce]") {
  for (DType t : {F32, F64})
    for (Index n = 1; n <= 1000; ++n) {
      INFO(n);
      REQUIRE(mean(full({n}, 3, t)).item() == 3);
      REQUIRE(div(scalar(static_cast<double>(n), t), static_cast<double>(n)).item() == 1);
      Tensor x = zeros({n + 1}, t);
      narrow(x, 0, 0, 1).fill_(static_cast<double>(n + 1));  // Σ (x - 1)² = n² + n
      REQUIRE(var(x, {}, 1).item() == static_cast<double>(n + 1));
    }
}

TEST_CASE("sum_to undoes expand", "[reduce]") {
  Tensor x = random_tensor({4, 2, 3, 5}, F64, 1);
  for (Shape s : {Shape{4, 2, 3, 5}, Shape{3, 5}, Shape{3, 1}, Shape{4, 1, 1, 5}, Shape{1}, Shape{},
                  Shape{1, 1, 1, 1}, Shape{2, 1, 1}}) {
    Tensor y = sum_to(x, s);
    REQUIRE(y.shape() == s);
    std::vector<double> expected(static_cast<std::size_t>(numel_of(s)));
    for (Index i = 0; i < x.numel(); ++i)
      expected[static_cast<std::size_t>(broadcast_position(i, x.shape(), s))] += element(x, i);
    for (Index i = 0; i < y.numel(); ++i)
      CHECK(std::abs(element(y, i) - expected[static_cast<std::size_t>(i)]) < 1e-12);
  }
  CHECK(elements(sum_to(zeros({0, 3}), {3})) == std::vector<double>(3, 0));
  CHECK(error_of<ShapeError>([&] {
          sum_to(x, {2, 5});
        }) == "sum_to: (2, 5) does not broadcast to x\n  x (4, 2, 3, 5) float64");
  CHECK_THROWS_AS(sum_to(scalar(1), {1}), ShapeError);
}

TEST_CASE("dot accumulates in float64", "[reduce]") {
  CHECK(dot(tensor({1, 2, 3}), tensor({4, 5, 6})) == 32);
  CHECK(dot(tensor({1e8, 1, -1e8}), tensor({1, 1, 1})) == 1);
  CHECK(dot(tensor({2}, I64), tensor({0.5}, F64)) == 1);
}

TEST_CASE("wrong axes and dtypes of reductions", "[reduce]") {
  CHECK(error_of<IndexError>([] {
          sum(zeros({2, 3}), {2});
        }) == "sum: axis 2 is outside a tensor of rank 2\n  x (2, 3) float32");
  CHECK_THROWS_AS(sum(zeros({2, 3}), {0, -2}), IndexError);
  CHECK_THROWS_AS(mean(zeros({2}, I64)), DTypeError);
  CHECK_THROWS_AS(any(zeros({2})), DTypeError);
  CHECK_THROWS_AS(all(zeros({2})), DTypeError);
  CHECK_THROWS_AS(argmax(scalar(1), 0), IndexError);
}

TEST_CASE("the number of threads does not change a bit of a reduction", "[reduce]") {
  const std::vector<Shape> shapes{{300, 700}, {200000}, {3, 70000}, {2000, 3, 40}, {100000, 2}};
  for (DType t : {F32, F64}) {
    for (std::size_t i = kSanitized && t == F64; i < shapes.size(); i += kEvery) {
      Tensor x = random_tensor(shapes[i], t, 1);
      CHECK(same_for_any_threads([&] { return sum(x); }));
      CHECK(same_for_any_threads([&] { return var(x); }));
      for (int axis = 0; axis < x.rank(); ++axis) {
        CHECK(same_for_any_threads([&] { return sum(x, {axis}); }));
        CHECK(same_for_any_threads([&] { return softmax(x, axis); }));
        CHECK(same_for_any_threads([&] { return log_softmax(x, axis); }));
        CHECK(same_for_any_threads([&] { return logsumexp(x, axis); }));
      }
    }
  }
}

}  // namespace test_reduce
