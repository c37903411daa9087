#include "tensor/ops/elementwise.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_elementwise {

using namespace glim;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

// Equal, or both NaN, or within `ulps` of x's dtype.
bool near(double y, double expected, DType t, double ulps) {
  if (std::isnan(expected)) return std::isnan(y);
  if (std::isinf(expected) || expected == 0) return y == expected;
  double unit = t == DType::Float32 ? 0x1p-23 : 0x1p-52;
  double least = t == DType::Float32 ? 0x1p-149 : 0x1p-1074;
  return std::abs(y - expected) <= std::max(ulps * unit * std::abs(expected), least);
}

// Checks y[i] = f(x[i]) on views of many layouts and on special values.
void check_unary(Tensor (*op)(const Tensor&), double (*f)(double), double ulps) {
  Dice dice(3);
  for (DType t : {DType::Float32, DType::Float64}) {
    std::vector<Tensor> inputs{
        tensor({0, -0.0, 1, -1, 0.5, -0.5, kInf, -kInf, kNaN, 1e-30, 20, -20, 3}, t),
        random_tensor({40000}, t, 1), transpose(random_tensor({300, 129}, t, 2))};
    for (int round = 0; round < 60; ++round) inputs.push_back(random_view(dice, t));
    for (const Tensor& x : inputs) {
      Tensor y = op(x);
      REQUIRE(y.shape() == x.shape());
      REQUIRE(y.dtype() == t);
      for (Index i = 0; i < x.numel(); ++i) {
        double in = element(x, i), out = element(y, i);
        double expected = f(in);
        if (t == DType::Float32) expected = static_cast<float>(expected);
        if (near(out, expected, t, ulps)) continue;  // millions: Catch2 hears of a wrong one alone
        FAIL(in << " gives " << out << ", not " << expected);
      }
    }
  }
}

void check_binary(Tensor (*op)(const Tensor&, const Tensor&), double (*f)(double, double),
                  bool integers) {
  Dice dice(4);
  int checked = 0;
  for (int round = 0; round < 400; ++round) {
    DType t = static_cast<DType>(round % (integers ? 3 : 2));
    Tensor a = random_view(dice, t), b = random_view(dice, t);
    if (round % 5 == 0) b = random_tensor(a.shape(), t, dice.source());
    if (round % 5 == 1 && a.rank() > 0 && a.size(0) > 0) b = select(a, 0, 0);
    Shape shape;
    try {
      shape = broadcast_shapes(a.shape(), b.shape(), "f");
    } catch (const ShapeError&) {
      CHECK_THROWS_AS(op(a, b), ShapeError);
      continue;
    }
    Tensor y = op(a, b);
    REQUIRE(y.shape() == shape);
    for (Index i = 0; i < y.numel(); ++i) {
      double expected = f(element(a, broadcast_position(i, shape, a.shape())),
                          element(b, broadcast_position(i, shape, b.shape())));
      if (t == DType::Float32) expected = static_cast<float>(expected);
      REQUIRE(near(element(y, i), expected, t, 0));
      ++checked;
    }
  }
  CHECK(checked > 2000);
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("functions of one tensor", "[elementwise]") {
  check_unary(
      neg, [](double x) { return -x; }, 0);
  check_unary(
      abs, [](double x) { return std::abs(x); }, 0);
  check_unary(
      sign, [](double x) { return x > 0   ? 1.0
                                  : x < 0 ? -1.0
                                          : x; }, 0);
  check_unary(sqrt, std::sqrt, 0);
  check_unary(
      relu, [](double x) { return x < 0 ? 0.0 : x; }, 0);
  check_unary(exp, std::exp, 2);
  check_unary(log, std::log, 2);
  check_unary(sin, std::sin, 2);
  check_unary(cos, std::cos, 2);
  check_unary(tanh, std::tanh, 3);
  check_unary(erf, std::erf, 3);
  check_unary(sigmoid, logistic, 4);
}

TEST_CASE("functions of two tensors broadcast over any layout", "[elementwise]") {
  check_binary(
      add, [](double a, double b) { return a + b; }, true);
  check_binary(
      sub, [](double a, double b) { return a - b; }, true);
  check_binary(
      mul, [](double a, double b) { return a * b; }, true);
  check_binary(
      div, [](double a, double b) { return a / b; }, false);
  check_binary(
      maximum, [](double a, double b) { return a > b ? a : b; }, true);
  check_binary(
      minimum, [](double a, double b) { return a < b ? a : b; }, true);
}

TEST_CASE("signs of zero, NaN and infinity", "[elementwise]") {
  CHECK(std::signbit(neg(tensor({0})).item()));
  CHECK(std::signbit(relu(tensor({-0.0})).item()));
  CHECK(std::isnan(relu(tensor({kNaN})).item()));
  CHECK(relu(tensor({-kInf})).item() == 0);
  // A bound changes nothing that equals it; of two that are equal the second is the larger, and the smaller.
  const Tensor zero = tensor({0}), minus = tensor({-0.0});
  for (const Tensor& x : {zero, minus}) {
    CHECK(same_bits(clamp(x, 0, 1), x));
    CHECK(same_bits(clamp(x, -1, 0), x));
    for (const Tensor& y : {zero, minus}) {
      CHECK(same_bits(maximum(x, y), y));
      CHECK(same_bits(minimum(x, y), y));
    }
  }
  CHECK(same_bits(clamp(minus, -0.0, 1), minus));
  CHECK(same_bits(clamp(zero, -1, -0.0), zero));
  Tensor n = tensor({kNaN}), one = tensor({1});
  CHECK(std::isnan(maximum(n, one).item()));
  CHECK(std::isnan(maximum(one, n).item()));
  CHECK(std::isnan(minimum(n, one).item()));
  CHECK(std::isnan(minimum(one, n).item()));
  CHECK(elements(sigmoid(tensor({-kInf, kInf, -1000, 1000}))) == std::vector<double>{0, 1, 0, 1});
  CHECK(elements(div(tensor({1, -1}), tensor({0, 0}))) == std::vector<double>{kInf, -kInf});
}

TEST_CASE("int64 wraps around as NumPy's does", "[elementwise]") {
  Tensor top = from_vector<Index>({INT64_MAX, INT64_MIN}, {2}), one = ones({2}, DType::Int64);
  CHECK(add(top, one).to_vector<Index>() == std::vector<Index>{INT64_MIN, INT64_MIN + 1});
  CHECK(sub(top, one).to_vector<Index>() == std::vector<Index>{INT64_MAX - 1, INT64_MAX});
  CHECK(mul(top, top).to_vector<Index>() == std::vector<Index>{1, 0});
  CHECK(neg(top).to_vector<Index>() == std::vector<Index>{-INT64_MAX, INT64_MIN});
  CHECK(abs(top).to_vector<Index>() == std::vector<Index>{INT64_MAX, INT64_MIN});
  CHECK(abs(from_vector<Index>({-5, 0, 7}, {3})).to_vector<Index>() == std::vector<Index>{5, 0, 7});
  CHECK(mul(top, 2).to_vector<Index>() == std::vector<Index>{-2, 0});
}

TEST_CASE("scalars are added and multiplied in the tensor's dtype", "[elementwise]") {
  CHECK(elements(add(tensor({1, 2}), 0.5)) == std::vector<double>{1.5, 2.5});
  CHECK(elements(mul(tensor({1, 2}, DType::Int64), -3)) == std::vector<double>{-3, -6});
  CHECK(add(tensor({0}), 0.1).at<float>({0}) == 0.1f);
  CHECK(error_of<ValueError>([] { add(tensor({1}, DType::Int64), 0.5); }) ==
        "add: 0.5 is not an integer\n  x (1,) int64");
  CHECK_THROWS_AS(mul(tensor({1}, DType::Int64), kNaN), ValueError);
  CHECK_THROWS_AS(mul(tensor({1}, DType::Int64), 1e19), ValueError);
  CHECK_THROWS_AS(add(zeros({2}, DType::Bool), 1), DTypeError);
}

TEST_CASE("in place", "[elementwise]") {
  Tensor a = reshape(arange(0, 6, 1, DType::Float32), {2, 3});
  add_(a, tensor({10, 20, 30}));
  CHECK(elements(a) == std::vector<double>{10, 21, 32, 13, 24, 35});
  add_scaled_(transpose(a), tensor({1, 2}), 0.5);
  CHECK(elements(a) == std::vector<double>{10.5, 21.5, 32.5, 14, 25, 36});
  mul_(select(a, 1, 0), 2);
  CHECK(elements(a) == std::vector<double>{21, 21.5, 32.5, 28, 25, 36});
  add_(a, a);
  CHECK(elements(select(a, 0, 0)) == std::vector<double>{42, 43, 65});
  Tensor s = reshape(arange(0, 10000, 1, DType::Float64), {100, 100});
  Tensor expected = add(s, transpose(s));
  add_(s, transpose(s));
  CHECK(same_bits(s, expected));
  CHECK(error_of<ShapeError>([&] { add_(a, zeros({2})); }) ==
        "add_: the source does not broadcast to (2, 3)\n  to (2, 3) float32\n  from (2,) float32");
  CHECK_THROWS_AS(add_(a, zeros({2, 3}, DType::Float64)), DTypeError);
  CHECK_THROWS_AS(add_(a, zeros({1, 2, 3})), ShapeError);
  CHECK_THROWS_AS(add_scaled_(zeros({1}, DType::Int64), zeros({1}, DType::Int64), 1), DTypeError);
  Tensor i = ones({2}, DType::Int64);
  add_(i, i);
  CHECK(elements(i) == std::vector<double>{2, 2});
}

TEST_CASE("pow and clamp", "[elementwise]") {
  Tensor x = tensor({-2, 0, 2, kNaN}, DType::Float64);
  CHECK(elements(pow(x, 3)).at(0) == -8);
  CHECK(elements(pow(x, 2)).at(0) == 4);
  CHECK(elements(pow(x, 0)) == std::vector<double>(4, 1));
  CHECK(std::isnan(pow(x, 0.5).at<double>({0})));
  CHECK(elements(clamp(slice(x, 0, 0, 3), -1, 1)) == std::vector<double>{-1, 0, 1});
  CHECK(std::isnan(clamp(x, -1, 1).at<double>({3})));
  CHECK_THROWS_AS(clamp(x, 1, -1), ValueError);
  CHECK_THROWS_AS(clamp(x, kNaN, 1), ValueError);
}

TEST_CASE("errors name op, shapes and dtypes", "[elementwise]") {
  CHECK(error_of<ShapeError>([] {
          add(zeros({2, 3}), zeros({4}));
        }) ==
        "add: shapes (2, 3) and (4,) do not broadcast: axis -1 has 3 and 4\n"
        "  a (2, 3) float32\n  b (4,) float32");
  CHECK(error_of<DTypeError>([] { mul(zeros({2}), zeros({2}, DType::Int64)); }) ==
        "mul: dtypes differ\n  a (2,) float32\n  b (2,) int64");
  CHECK(error_of<DTypeError>([] { sub(zeros({2}, DType::Bool), zeros({2}, DType::Bool)); }) ==
        "sub: is not defined for bool\n  x (2,) bool");
  CHECK(error_of<DTypeError>([] { div(zeros({2}, DType::Int64), zeros({2}, DType::Int64)); }) ==
        "div: needs float32 or float64\n  x (2,) int64");
  CHECK(error_of<DTypeError>([] { exp(zeros({2}, DType::Int64)); }) ==
        "exp: needs float32 or float64\n  x (2,) int64");
}

TEST_CASE("the number of threads does not change a bit", "[elementwise]") {
  for (DType t : {DType::Float32, DType::Float64}) {
    Tensor a = random_tensor({130, 3, 517}, t, 1), b = random_tensor({517}, t, 2);
    Tensor v = slice(transpose(a, 0, 2), 0, 1, 517, 3);
    CHECK(same_for_any_threads([&] { return exp(mul(add(a, b), a)); }));
    CHECK(same_for_any_threads([&] { return sigmoid(v); }));
    CHECK(same_for_any_threads([&] { return tanh(erf(v)); }));
    CHECK(same_for_any_threads([&] { return where(less(a, b), a, b); }));
  }
}

TEST_CASE("the layout of an operand does not change a bit", "[elementwise]") {
  using Op = Tensor (*)(const Tensor&);
  for (DType t : {DType::Float32, DType::Float64}) {
    Tensor x = random_tensor({37, 53}, t, 5);
    for (Op op : {Op(exp), Op(log), Op(tanh), Op(erf), Op(sigmoid), Op(relu)}) {
      Tensor y = op(x);
      CHECK(same_bits(transpose(op(transpose(x))), y));
      for (Index start : {1, 2, 7, 20, 36})  // other lengths, other alignments
        CHECK(same_bits(op(slice(slice(x, 0, start, 37), 1, start, 53)),
                        slice(slice(y, 0, start, 37), 1, start, 53)));
      for (Index i = 0; i < 53; i += 13)
        CHECK(same_bits(op(slice(select(x, 0, 3), 0, i, i + 1)),
                        slice(select(y, 0, 3), 0, i, i + 1)));
    }
  }
}

TEST_CASE("operators of tensors and numbers give tensors", "[elementwise]") {
  for (DType t : {DType::Float32, DType::Float64}) {
    const Tensor x = tensor({1, -2, 4}, t);
    const std::vector<std::pair<Tensor, Tensor>> results{
        {x + 1, tensor({2, -1, 5}, t)},     {1 + x, tensor({2, -1, 5}, t)},
        {x - 1.0, tensor({0, -3, 3}, t)},   {1 - x, tensor({0, 3, -3}, t)},
        {x * 2, tensor({2, -4, 8}, t)},     {2.0 * x, tensor({2, -4, 8}, t)},
        {x / 2.0, tensor({0.5, -1, 2}, t)}, {2 / x, tensor({2, -1, 0.5}, t)},
        {-x, tensor({-1, 2, -4}, t)}};
    for (const auto& [result, expected] : results) CHECK(same_bits(result, expected));
  }
  CHECK_THROWS_AS(arange(0, 3) / 2.0, DTypeError);
}

TEST_CASE("operators that assign write into the elements", "[elementwise]") {
  const Tensor x = zeros({2, 3}), row = select(x, 0, 1);
  row += tensor({1, 2, 3});
  row -= 4;
  row *= 2.0;
  row /= tensor({2, 4, 8});
  CHECK(same_bits(x, tensor({0, 0, 0, -3, -1, -0.25}, {2, 3})));
  x += row;  // reads the row before it is written
  CHECK(same_bits(x, tensor({-3, -1, -0.25, -6, -2, -0.5}, {2, 3})));
  CHECK_THROWS_AS(row += x, ShapeError);
  CHECK_THROWS_AS(row += arange(0, 3), DTypeError);
  CHECK_THROWS_AS(x.read_only() *= 2, ValueError);
}

}  // namespace test_elementwise
