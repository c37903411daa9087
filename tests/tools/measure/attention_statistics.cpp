// Entropy and saturation of attention: their ends, masks, and the softmax Jacobian itself.
#include "tools/measure/attention_statistics.hpp"

#include <cmath>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_attention_statistics {

using namespace glim;

TEST_CASE("uniform attention has entropy ln n and saturation 0, one-hot attention 0 and 1") {
  HeadStatistics even = head_statistics(full({3, 4}, 0.25));
  CHECK(even.entropy == Approx(std::log(4)));
  CHECK(even.saturation == Approx(0).margin(1e-12));
  HeadStatistics sharp = head_statistics(eye(4));
  CHECK(sharp.entropy == 0);
  CHECK(sharp.saturation == Approx(1));
  CHECK(sharp.distance == 0);
  CHECK(even.distance == Approx((6 + 4 + 4) / 12.0));  // |i - j| of 3 queries and 4 keys
  CHECK(head_statistics(reshape(tensor({0, 0, 1, 1, 0, 0}), {2, 3})).distance == 1.5);
}

TEST_CASE("saturation is one minus the trace of the softmax's Jacobian over its largest value") {
  Tensor scores = normal({1, 5}, 0, 1.5, {3, 0}, DType::Float64);
  Tape tape;
  Var x = Var::leaf(scores), p = softmax(x, -1);
  double trace = 0;
  for (Index i = 0; i < 5; ++i) {
    Tensor unit = zeros({1, 5}, DType::Float64);
    unit.data<double>()[i] = 1;
    trace += tape.grad(p, {x}, unit, {.retain = true})[0].value().at<double>({0, i});
  }
  CHECK(head_statistics(p.value()).saturation == Approx(1 - trace / (1 - 1.0 / 5)).epsilon(1e-12));
}

TEST_CASE("masked keys do not count, nor queries without a key, nor one key towards saturation") {
  Tensor probs = reshape(tensor({0.5, 0.5, 0, 1, 0, 0, 0, 0, 0}), {3, 3});
  Tensor keep =
      from_vector<bool>({true, true, false, true, false, false, false, false, false}, {3, 3});
  HeadStatistics s = head_statistics(probs, keep);
  CHECK(s.row_entropy[0] == Approx(std::log(2)));
  CHECK(s.row_entropy[1] == 0);
  CHECK(std::isnan(s.row_entropy[2]));
  CHECK(s.entropy == Approx(std::log(2) / 2));
  CHECK(s.saturation == Approx(0).margin(1e-12));
  CHECK(s.distance == Approx((0.5 + 1) / 2));
  CHECK(std::isnan(head_statistics(ones({2, 1})).saturation));
  CHECK(std::isnan(head_statistics(zeros({0, 4})).entropy));
  CHECK_THROWS_AS(head_statistics(ones({2})), ShapeError);
  CHECK_THROWS_AS(head_statistics(ones({2, 2}), keep), ShapeError);
}

TEST_CASE("the largest score is by size, and of pairs that may attend") {
  const Tensor scores = reshape(tensor({1, -5, 3, 9}), {2, 2}),
               keep = from_vector<bool>({true, true, true, false}, {2, 2});
  CHECK(largest_score(scores, keep) == 5);
  CHECK(std::isnan(largest_score(scores, equal(scores, 0))));
}

}  // namespace test_attention_statistics
