// Averages of states.
#include "optim/averaging.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tests/optim/common.hpp"

namespace test_averaging {

using namespace glim;

TEST_CASE("the average of the last three states", "[optim][reference]") {
  TwoParams pair(DType::Float64);
  auto optimizer = optimizer_for(optim().config("sgd_momentum"), pair.list());
  std::vector<StateDict> states;
  for (Index i = 0; i < kSteps; ++i) {
    pair.set_gradients(i);
    optimizer->step();
    states.push_back({{"w", pair.w.value().clone()},
                      {"b", pair.b.value().clone()},
                      {"count", scalar(static_cast<double>(i), DType::Int64)}});
  }
  StateDict mean_of = average({states.end() - 3, states.end()});
  CHECK(close(mean_of.at("w"), optim().get("average_last3.w"), 1e-15));
  CHECK(close(mean_of.at("b"), optim().get("average_last3.b"), 1e-15));
  CHECK(mean_of.at("count").item() == 11);
  // float32 states are summed in float64.
  StateDict big{{"x", full({1}, 16777216)}}, one{{"x", full({1}, 1)}};
  CHECK(average({big, one, one, one}).at("x").item() == Approx(16777219.0 / 4).epsilon(1e-7));

  CHECK_THROWS_AS(average({}), ValueError);
  CHECK_THROWS_AS(average({big, {{"y", zeros({1})}}}), ValueError);
  CHECK_THROWS_AS(average({big, {}}), ValueError);
  CHECK_THROWS_AS(average({big, {{"x", zeros({2})}}}), ShapeError);
  CHECK_THROWS_AS(average({big, {{"x", zeros({1}, DType::Float64)}}}), DTypeError);
}

}  // namespace test_averaging
