#include <cmath>
#include <limits>

#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_softmax {

using namespace glim;

namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::nan("");
constexpr DType F32 = DType::Float32, F64 = DType::Float64, I64 = DType::Int64;

}  // namespace

TEST_CASE("softmax, log_softmax and logsumexp agree with their formulas", "[softmax]") {
  Dice dice(10);
  for (int round = 0; round < 150; ++round) {
    DType t = round % 2 ? F32 : F64;
    double tolerance = t == F32 ? 1e-6 : 1e-14;
    Tensor x = mul(random_view(dice, t), 1 + 5 * static_cast<double>(dice.below(4)));
    for (int axis = 0; axis < x.rank(); ++axis) {
      Tensor p = softmax(x, axis), l = log_softmax(x, axis - x.rank());
      REQUIRE(p.shape() == x.shape());
      auto in = groups(x, 1 << axis), ps = groups(p, 1 << axis), ls = groups(l, 1 << axis);
      for (std::size_t g = 0; g < in.size(); ++g) {
        double z = log_sum_exp(in[g]);
        for (std::size_t i = 0; i < in[g].size(); ++i) {
          REQUIRE(std::abs(ps[g][i] - std::exp(in[g][i] - z)) <= tolerance);
          REQUIRE(std::abs(ls[g][i] - (in[g][i] - z)) <=
                  4 * tolerance * (1 + std::abs(in[g][i] - z)));
        }
      }
    }
  }
}

TEST_CASE("softmax of extreme rows", "[softmax]") {
  for (DType t : {F32, F64}) {
    auto row = [&](std::initializer_list<double> v) { return tensor(v, t); };
    CHECK(elements(softmax(row({-kInf, -kInf, -kInf}))) == std::vector<double>(3, 0));
    CHECK(elements(softmax(row({-kInf, 0, -kInf}))) == std::vector<double>{0, 1, 0});
    CHECK(elements(softmax(row({1e30, -1e30}))) == std::vector<double>{1, 0});
    CHECK(elements(softmax(row({7}))) == std::vector<double>{1});
    CHECK(elements(softmax(full({4}, -1e30, t))) == std::vector<double>(4, 0.25));
    CHECK(std::isnan(element(softmax(row({kInf, 0})), 0)));
    CHECK(std::isnan(element(softmax(row({kNaN, -kInf})), 0)));
    CHECK(std::isnan(element(softmax(row({-kInf, kNaN})), 0)));
    CHECK(elements(log_softmax(row({-kInf, 0, -kInf}))) == std::vector<double>{-kInf, 0, -kInf});
    CHECK(elements(log_softmax(row({-kInf, -kInf}))) == std::vector<double>(2, -kInf));
    CHECK(logsumexp(row({-kInf, -kInf})).item() == -kInf);
    CHECK(logsumexp(row({kInf, 0})).item() == kInf);
    CHECK(std::isnan(logsumexp(row({kInf, kNaN})).item()));
    CHECK(std::abs(logsumexp(row({1000, 1000})).item() - (1000 + std::log(2))) < 1e-4);
  }
  // Far from 0 the differences must survive: x - max first, then the logarithm.
  Tensor far = tensor({1e6, 1e6 - 1, 1e6 - 2});
  Tensor l = log_softmax(far), expected = log_softmax(tensor({0, -1, -2}));
  CHECK(same_bits(l, expected));
  CHECK_THROWS_AS(softmax(scalar(1)), IndexError);
  CHECK_THROWS_AS(softmax(zeros({2}, I64)), DTypeError);
  CHECK_THROWS_AS(log_softmax(zeros({2}), 1), IndexError);
  CHECK_THROWS_AS(logsumexp(zeros({2}, I64)), DTypeError);
}

}  // namespace test_softmax
