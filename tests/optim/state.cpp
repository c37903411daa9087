// The state of an optimizer: names, saving, loading.

#include "tensor/ops/elementwise.hpp"
#include "tests/optim/common.hpp"

namespace test_state {

using namespace glim;

TEST_CASE("an optimizer continues from its state bit by bit", "[optim]") {
  for (const std::string& name : kCases) {
    INFO(name);
    auto& config = optim().config(name);
    TwoParams straight(DType::Float32);
    auto whole = optimizer_for(config, straight.list());
    TwoParams first(DType::Float32);
    auto before = optimizer_for(config, first.list());
    for (Index i = 0; i < kSteps; ++i) {
      straight.set_gradients(i);
      whole->step();
      if (i >= 5) continue;
      first.set_gradients(i);
      before->step();
    }
    TwoParams second(DType::Float32);
    second.w.value().copy_(first.w.value());
    second.b.value().copy_(first.b.value());
    auto after = optimizer_for(config, second.list());
    after->set_rate(7);
    after->load_state_dict(before->state_dict());
    CHECK(after->rate() == before->rate());
    CHECK(after->steps() == 5);
    for (Index i = 5; i < kSteps; ++i) {
      second.set_gradients(i);
      after->step();
    }
    CHECK(same_bits(second.w.value(), straight.w.value()));
    CHECK(same_bits(second.b.value(), straight.b.value()));
    // The loaded state is a copy: the first optimizer is as it was.
    CHECK(before->steps() == 5);
  }
}

TEST_CASE("state is named by parameter", "[optim]") {
  TwoParams pair(DType::Float32);
  Adam adam(pair.list());
  CHECK(adam.state_dict().size() == 2);  // rate, steps
  pair.set_gradients(0);
  pair.b.zero_grad();
  adam.step();
  StateDict state = adam.state_dict();
  CHECK(state.size() == 5);
  CHECK(state.at("exp_avg.w").shape() == Shape{3, 4});
  CHECK(state.at("exp_avg_sq.w").dtype() == DType::Float32);
  CHECK(state.at("step.w").item() == 1);
  CHECK(state.at("steps").item() == 1);
  CHECK(state.count("exp_avg.b") == 0);
}

TEST_CASE("loading a state says what does not fit, and changes nothing then", "[optim]") {
  TwoParams pair(DType::Float32);
  Adam adam(pair.list());
  pair.set_gradients(0);
  adam.step();
  StateDict good = adam.state_dict();
  auto refused = [&](const std::function<void(StateDict&)>& change) {
    StateDict state = good;
    change(state);
    const std::string text = error_of([&] { adam.load_state_dict(state); });
    CHECK(adam.steps() == 1);
    CHECK(adam.rate() == 1e-3);
    return text;
  };
  CHECK(contains(refused([](StateDict& s) { s.erase("exp_avg_sq.w"); }), "lacks exp_avg_sq.w"));
  CHECK(contains(refused([](StateDict& s) { s.erase("steps"); }), "lacks steps"));
  CHECK(contains(refused([](StateDict& s) { s["rate"] = scalar(1e300, DType::Float64); }),
                 "is inf in float32"));
  CHECK(contains(refused([](StateDict& s) { s["exp_avg.x"] = zeros({2}); }), "exp_avg.x"));
  CHECK(contains(refused([](StateDict& s) { s["exp_avg.w"] = zeros({4, 3}); }), "exp_avg.w"));
  CHECK(contains(refused([](StateDict& s) {
                   s["exp_avg.w"] = zeros({3, 4}, DType::Float64);
                 }),
                 "another dtype"));
  CHECK(contains(refused([](StateDict& s) { s["rate"] = scalar(-1, DType::Float64); }), "rate"));
  CHECK(refused([](StateDict&) {}).empty());
}

}  // namespace test_state
