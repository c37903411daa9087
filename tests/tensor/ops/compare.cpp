#include <cmath>
#include <limits>

#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_compare {

using namespace glim;

namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::nan("");

}  // namespace

TEST_CASE("comparisons", "[compare]") {
  Dice dice(5);
  for (int round = 0; round < 200; ++round) {
    DType t = static_cast<DType>(round % 4);
    Tensor a = random_view(dice, t);
    Tensor b = round % 2 ? a.clone() : random_tensor(a.shape(), t, dice.source());
    std::vector<double> u = elements(a), v = elements(b);
    Tensor results[] = {equal(a, b),      not_equal(a, b), less(a, b),
                        less_equal(a, b), greater(a, b),   greater_equal(a, b)};
    for (std::size_t i = 0; i < u.size(); ++i) {
      bool expected[] = {u[i] == v[i], u[i] != v[i], u[i]<v[i], u[i] <= v[i], u[i]> v[i],
                         u[i] >= v[i]};
      for (int k = 0; k < 6; ++k)
        REQUIRE(element(results[k], static_cast<Index>(i)) == (expected[k] ? 1 : 0));
    }
  }
  Tensor n = tensor({kNaN});
  CHECK(equal(n, n).item() == 0);
  CHECK(not_equal(n, n).item() == 1);
  CHECK(less_equal(n, n).item() == 0);
  CHECK_THROWS_AS(less(n, zeros({1}, DType::Float64)), DTypeError);
}

TEST_CASE("comparisons with a scalar", "[compare]") {
  Tensor x = tensor({-1, 0, 1, 0.1, kNaN});
  CHECK(elements(equal(x, 0.1)) == std::vector<double>{0, 0, 0, 1, 0});  // as float32
  CHECK(elements(not_equal(x, 0)) == std::vector<double>{1, 0, 1, 1, 1});
  CHECK(elements(less(x, 0)) == std::vector<double>{1, 0, 0, 0, 0});
  CHECK(elements(greater(x, -kInf)) == std::vector<double>{1, 1, 1, 1, 0});
  // Integers are compared exactly, whatever the scalar.
  Tensor i = from_vector<Index>({-1, 0, 1, INT64_MAX, INT64_MIN}, {5});
  CHECK(elements(less(i, 0.5)) == std::vector<double>{1, 1, 0, 0, 1});
  CHECK(elements(greater(i, -0.5)) == std::vector<double>{0, 1, 1, 1, 0});
  CHECK(elements(equal(i, 0.5)) == std::vector<double>(5, 0));
  CHECK(elements(less(i, 0x1p63)) == std::vector<double>(5, 1));
  CHECK(elements(equal(i, 0x1p63)) == std::vector<double>(5, 0));
  CHECK(elements(greater(i, kInf)) == std::vector<double>(5, 0));
  CHECK(elements(not_equal(i, kNaN)) == std::vector<double>(5, 1));
  if (std::numeric_limits<long double>::digits >= 64) {  // which has every int64 and double
    const std::vector<Index> whole{0,
                                   1,
                                   -1,
                                   INT64_MAX,
                                   INT64_MAX - 1,
                                   INT64_MIN,
                                   INT64_MIN + 1,
                                   1LL << 53,
                                   (1LL << 53) + 1,
                                   -(1LL << 53) - 1};
    const Tensor n = from_vector<Index>(whole, {10});
    for (const double c : {0.0, -0.0, 0.5, -0.5, 0x1p53, -0x1p53, 0x1p53 + 2, 0x1p62, 0x1p63,
                           -0x1p63, -0x1p63 - 2048, 0x1p64, kInf, -kInf, kNaN})
      for (Index k = 0; k < 10; ++k) {
        const long double v = whole[static_cast<std::size_t>(k)], l = c;
        const Tensor results[] = {equal(n, c),      not_equal(n, c), less(n, c),
                                  less_equal(n, c), greater(n, c),   greater_equal(n, c)};
        const bool expected[] = {v == l, v != l, v<l, v <= l, v> l, v >= l};
        for (int r = 0; r < 6; ++r) REQUIRE(element(results[r], k) == (expected[r] ? 1 : 0));
      }
  }
  CHECK(elements(equal(tensor({0, 1}, DType::Bool), 1)) == std::vector<double>{0, 1});
}

TEST_CASE("logic, all_finite", "[compare]") {
  Tensor a = tensor({0, 0, 1, 1}, DType::Bool), b = tensor({0, 1, 0, 1}, DType::Bool);
  CHECK(elements(logical_and(a, b)) == std::vector<double>{0, 0, 0, 1});
  CHECK(elements(logical_or(a, b)) == std::vector<double>{0, 1, 1, 1});
  CHECK(elements(logical_not(a)) == std::vector<double>{1, 1, 0, 0});
  CHECK(elements(select(logical_and(reshape(a, {4, 1}), slice(b, 0, 0, 2)), 0, 3)) ==
        std::vector<double>{0, 1});
  CHECK_THROWS_AS(logical_and(tensor({1}), tensor({1})), DTypeError);
  CHECK_THROWS_AS(logical_not(tensor({1})), DTypeError);
  CHECK(all_finite(ones({2}, DType::Int64)));
  for (DType t : {DType::Float32, DType::Float64}) {
    CHECK(all_finite(slice(random_tensor({4, 10}, t, 1), 1, 2, 9)));
    Tensor x = full({100, 1000}, 3e38, t);
    CHECK(all_finite(x));
    for (double bad : {kNaN, kInf, -kInf}) {
      slice(slice(x, 0, 99, 100), 1, 998, 999).fill_(bad);
      CHECK_FALSE(all_finite(x));
      CHECK_FALSE(all_finite(transpose(x)));
      CHECK(all_finite(slice(x, 1, 0, 998)));
    }
  }
}

TEST_CASE("where chooses and broadcasts", "[compare]") {
  Dice dice(6);
  for (int round = 0; round < 200; ++round) {
    DType t = static_cast<DType>(round % 4);
    Tensor a = random_view(dice, t), b = random_tensor(a.shape(), t, dice.source());
    Tensor c = random_tensor(a.shape(), DType::Bool, dice.source());
    if (round % 3 == 0) b = random_tensor({}, t, dice.source());
    if (round % 3 == 1 && a.rank() > 1 && a.size(0) > 0) c = select(c, 0, 0);
    Tensor y = where(c, a, b);
    REQUIRE(y.shape() == a.shape());
    for (Index i = 0; i < y.numel(); ++i) {
      bool chosen = element(c, broadcast_position(i, a.shape(), c.shape())) != 0;
      REQUIRE(element(y, i) ==
              (chosen ? element(a, i) : element(b, broadcast_position(i, a.shape(), b.shape()))));
    }
  }
  CHECK(where(ones({2, 1}, DType::Bool), tensor({1, 2, 3}), scalar(0)).shape() == Shape{2, 3});
  CHECK(where(ones({2, 1}, DType::Bool), scalar(1), scalar(0)).shape() == Shape{2, 1});
  CHECK(error_of<ShapeError>([] { where(ones({2}, DType::Bool), zeros({3}), scalar(0)); }) ==
        "where: shapes (2,) and (3,) do not broadcast: axis -1 has 2 and 3\n"
        "  condition (2,) bool\n  a (3,) float32\n  b () float32");
  CHECK_THROWS_AS(where(ones({2}), zeros({2}), zeros({2})), DTypeError);
}

TEST_CASE("same_bits tells what == does not", "[compare]") {
  CHECK(same_bits(tensor({kNaN}), tensor({kNaN})));
  CHECK_FALSE(same_bits(tensor({0}), tensor({-0.0})));
  CHECK_FALSE(same_bits(zeros({2, 3}), zeros({3, 2})));
  CHECK_FALSE(same_bits(zeros({2}), zeros({2}, DType::Float64)));
  CHECK(same_bits(zeros({0}), zeros({0})));
}

}  // namespace test_compare
