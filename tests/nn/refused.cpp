// Arguments and files outside their domain are errors; a module's parts may end in any order.
#include <cmath>
#include <limits>
#include <optional>

#include "nn/attention/mask.hpp"
#include "nn/attention/positions.hpp"
#include "nn/attention/relative_positions.hpp"
#include "nn/layer_norm.hpp"
#include "nn/linear.hpp"
#include "nn/rms_norm.hpp"
#include "nn/vision/batch_norm.hpp"
#include "tests/catch.hpp"

namespace test_nn_refused {

using namespace glim;

namespace {

constexpr Index kHuge = std::numeric_limits<Index>::max();
const double kNan = std::nan("");

}  // namespace

TEST_CASE("a norm's numbers are checked", "[nn]") {
  Var x(ones({2, 3}));
  for (double eps : {kNan, -1e-5, std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(layer_norm(x, Var(), Var(), eps), ValueError);
    CHECK_THROWS_AS(rms_norm(x, Var(), eps), ValueError);
    CHECK_THROWS_AS(BatchNorm(3, eps), ValueError);
  }
  for (double eps : {1e-50, 1e39}) {  // 0 and ∞ in float32
    Var fine(ones({2, 3}, DType::Float64));
    CHECK_THROWS_AS(layer_norm(x, Var(), Var(), eps), ValueError);
    CHECK_THROWS_AS(rms_norm(x, Var(), eps), ValueError);
    CHECK_THROWS_AS(BatchNorm(3, eps)(x), ValueError);
    CHECK_NOTHROW(layer_norm(fine, Var(), Var(), eps));
  }
  for (double momentum : {kNan, -0.1, 1.1})
    CHECK_THROWS_AS(BatchNorm(3, 1e-5, momentum), ValueError);
}

TEST_CASE("positions beyond 2^53 are errors, not overflows", "[nn]") {
  for (Index offset : {kHuge, -kHuge}) {
    CHECK_THROWS_AS(causal_keep(2, 2, offset), ValueError);
    CHECK_THROWS_AS(alibi_bias(2, 2, 2, offset), ValueError);
    PositionalEncoding positions(Positions::Sinusoidal, 4, 0);
    CHECK_THROWS_AS(positions(Var(ones({1, 2, 4})), offset), ValueError);
    RotaryPositions rotary(4, 1e4);
    CHECK_THROWS_AS(rotary(Var(ones({1, 2, 4})), offset), ValueError);
  }
  CHECK_THROWS_AS(causal_keep(kHuge, 1, 0), ValueError);
  CHECK_THROWS_AS(causal_keep(-1, 1, 0), ValueError);
}

TEST_CASE("a state of integers is no state of weights", "[nn]") {
  Linear layer(2, 2);
  StateDict state = layer.state_dict();
  Tensor before = state["weight"].clone();
  state["bias"] = state["bias"].clone();
  state["weight"] = ones({2, 2}, DType::Int64);
  CHECK_THROWS_AS(layer.load_state_dict(state), DTypeError);
  CHECK(same_bits(layer.weight.value(), before));
  state["weight"] = ones({2, 2}, DType::Float64);
  CHECK_NOTHROW(layer.load_state_dict(state));
  CHECK_THROWS_AS(layer.to(DType::Int64), DTypeError);
  CHECK_THROWS_AS(layer.to(DType::Bool), DTypeError);
  CHECK(layer.weight.dtype() == DType::Float32);
}

TEST_CASE("the leaf of a parameter outlives its module", "[nn]") {
  std::optional<Linear> layer(std::in_place, 2, 2);
  Var weight = layer->weight;
  CHECK(same_leaf(weight, layer->weight));
  layer.reset();
  weight.value().fill_(3);
  CHECK(weight.value().to_vector<float>() == std::vector<float>(4, 3));
  static_assert(!std::is_copy_constructible_v<Param>);
}

}  // namespace test_nn_refused
