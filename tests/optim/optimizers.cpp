// SGD, Adam and AdamW against torch's, weight decay, and what optimizers refuse.
#include <cmath>

#include "nn/linear.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/optim/common.hpp"

namespace test_optimizers {

using namespace glim;

TEST_CASE("every step equals torch's", "[optim][reference]") {
  for (const std::string& name : kCases) {
    for (DType dtype : {DType::Float64, DType::Float32}) {
      INFO(name << " " << name_of(dtype));
      TwoParams pair(dtype);
      auto optimizer = optimizer_for(optim().config(name), pair.list());
      for (Index i = 0; i < kSteps; ++i) {
        INFO("step " << i + 1);
        if (name == "adam_noam")
          optimizer->set_rate(optim().get("adam_noam.rates").at<double>({i}));
        pair.set_gradients(i);
        optimizer->step();
        for (auto& [key, var] : pair.list()) {
          Tensor expected = select(optim().get(name + "." + key), 0, i);
          CHECK(distance(var.value(), expected) <= (dtype == DType::Float64 ? 1e-13 : 5e-6));
        }
      }
      CHECK(optimizer->steps() == kSteps);
    }
  }
}

TEST_CASE("defaults are torch's", "[optim][reference]") {
  TwoParams pair(DType::Float64);
  Adam adam(pair.list());
  CHECK(adam.rate() == 1e-3);
  pair.set_gradients(0);
  adam.step();
  CHECK(close(pair.w.value(), select(optim().get("adam.w"), 0, 0), 1e-15));
  TwoParams other(DType::Float64);
  AdamW adamw(other.list());
  other.set_gradients(0);
  adamw.step();
  CHECK(close(other.w.value(), select(optim().get("adamw.w"), 0, 0), 1e-15));
}

TEST_CASE("a parameter without a gradient is left alone, its bias correction too", "[optim]") {
  // b gets its first gradient at step 4, and must move as at a first step.
  TwoParams pair(DType::Float64), fresh(DType::Float64);
  Adam adam(pair.list()), one(fresh.list());
  Tensor before = pair.b.value().clone();
  for (Index i = 0; i < 3; ++i) {
    pair.set_gradients(i);
    pair.b.zero_grad();
    adam.step();
    CHECK(same_bits(pair.b.value(), before));
  }
  pair.set_gradients(0);
  adam.step();
  fresh.set_gradients(0);
  one.step();
  CHECK(same_bits(pair.b.value(), fresh.b.value()));
  // One that is not trained keeps its value though a gradient is there.
  pair.w.leaf().trainable = false;
  Tensor w = pair.w.value().clone();
  pair.set_gradients(1);
  adam.step();
  CHECK(same_bits(pair.w.value(), w));
  adam.zero_grad();
  CHECK_FALSE(pair.w.grad().defined());
  CHECK_FALSE(pair.b.grad().defined());
}

TEST_CASE("weight decay of matrices only leaves vectors alone", "[optim]") {
  TwoParams matrices(DType::Float64), plain(DType::Float64), decayed(DType::Float64);
  AdamW adam(matrices.list(), {.rate = 0.01, .weight_decay = 0.1, .decay_matrices_only = true});
  AdamW without(plain.list(), {.rate = 0.01});
  AdamW with(decayed.list(), {.rate = 0.01, .weight_decay = 0.1});
  for (Index i = 0; i < 3; ++i) {
    for (const TwoParams* p : {&matrices, &plain, &decayed}) p->set_gradients(i);
    adam.step();
    without.step();
    with.step();
  }
  CHECK(same_bits(matrices.w.value(), decayed.w.value()));
  CHECK(same_bits(matrices.b.value(), plain.b.value()));
  CHECK_FALSE(same_bits(decayed.b.value(), plain.b.value()));
}

TEST_CASE("adam finds the minimum of a small problem", "[optim]") {
  Var x = Var::leaf(tensor({5, -3}, DType::Float64));
  Tensor goal = tensor({1, 2}, DType::Float64);
  Adam adam({{"x", x}}, {.rate = 0.1});
  for (int i = 0; i < 500; ++i) {
    Tape tape;
    Var d = sub(x, Var(goal));
    tape.backward(sum(mul(d, d)));
    adam.step();
    adam.zero_grad();
  }
  CHECK(distance(x.value(), goal) < 1e-3);
}

TEST_CASE("optimizers take a module's parameters without names too", "[optim]") {
  Linear one(3, 2), other(3, 2);
  auto leaves = one.parameters();
  for (const Var& p : other.parameters()) leaves.push_back(p);
  leaves.push_back(Var::leaf(ones({2})));
  Adam adam(leaves, {.rate = 0.1});
  std::vector<std::string> names;
  for (auto& [name, p] : adam.parameters()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"weight", "bias", "weight#2", "bias#3", "#4"});
  AdamW decayed(one.parameters());
  Sgd sgd(one.parameters(), {.rate = 0.1, .momentum = 0.9});
  Sgd named(one.named_parameters());
  CHECK(sgd.parameters()[1].first == named.parameters()[1].first);
  CHECK_THROWS_AS(Adam(std::vector<Var>{}), ValueError);
  leaves.push_back(leaves[0]);
  auto text = error_of<ValueError>([&] { Sgd twice(leaves); });
  CHECK(contains(text, "weight#5 is a parameter already listed under another name"));
  CHECK_THROWS_AS(Adam(std::vector<Var>{Var(ones({2}))}), StateError);
}

TEST_CASE("what optimizers refuse", "[optim]") {
  TwoParams pair(DType::Float32);
  auto list = pair.list();
  CHECK_THROWS_AS(Adam(list, {.rate = -1}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.rate = std::nan("")}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.beta1 = 1}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.beta2 = -0.1}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.eps = -1}), ValueError);
  CHECK_THROWS_AS(AdamW(list, {.weight_decay = -1}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.momentum = 1}), ValueError);
  for (double dampening : {std::nan(""), -0.1, 1.0})
    CHECK_THROWS_AS(Sgd(list, {.momentum = 0.9, .dampening = dampening}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.nesterov = true}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{{"w", pair.w}, {"w", pair.b}}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{{"w", pair.w}, {"v", pair.w}}), ValueError);
  CHECK_THROWS_AS(Adam(NamedParameters{{"c", Var(zeros({2}))}}), StateError);

  // The check is of the number as float32 has it.
  CHECK(contains(error_of<ValueError>([&] { Adam(list, {.eps = 1e-50}); }),
                 "eps 1e-50 is 0 in float32, the dtype of w"));
  CHECK(contains(error_of<ValueError>([&] { Adam(list, {.eps = 1.23456789012345e-50}); }),
                 "eps 1.23456789012e-50 is 0"));
  CHECK_THROWS_AS(Adam(list, {.eps = 1e39}), ValueError);
  CHECK_THROWS_AS(Adam(list, {.rate = 1e39}), ValueError);
  CHECK_THROWS_AS(AdamW(list, {.weight_decay = 1e-60}), ValueError);
  CHECK(contains(error_of<ValueError>([&] { Adam(list, {.beta2 = 1 - 1e-9}); }),
                 "beta2 0.999999999 is 1 in float32, the dtype of w"));
  CHECK_THROWS_AS(Adam(list, {.beta1 = 1 - 1e-9}), ValueError);
  CHECK_THROWS_AS(Sgd(list, {.momentum = 1 - 1e-9}), ValueError);
  CHECK_NOTHROW(Adam(TwoParams(DType::Float64).list(), {.beta2 = 1 - 1e-9}));
  CHECK_NOTHROW(Adam(TwoParams(DType::Float64).list(), {.rate = 1e39, .eps = 1e-50}));
  CHECK_NOTHROW(Adam(list, {.eps = 0}));

  Adam adam(list);
  CHECK_THROWS_AS(adam.set_rate(-1), ValueError);
  CHECK_THROWS_AS(adam.set_rate(1e39), ValueError);
  pair.set_gradients(0);
  pair.b.leaf().value = pair.b.value().to(DType::Float64);
  Tensor w = pair.w.value().clone();
  auto text = error_of<StateError>([&] { adam.step(); });
  CHECK(contains(text, "b is not what it was"));
  CHECK(same_bits(pair.w.value(), w));  // found before anything moved
  CHECK(adam.steps() == 0);
}

}  // namespace test_optimizers
