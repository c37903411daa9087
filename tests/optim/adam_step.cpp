// The kernel of Adam's step equals the paper's algorithm, written here with operations on tensors.
#include <cmath>
#include <memory>
#include <random>

#include "optim/adam.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_adam_step {

using namespace glim;

namespace {

struct Setting {
  AdamOptions options;
  bool decoupled;  // AdamW
};

struct State {
  Tensor theta, m, v;  // float64
};

// Kingma & Ba 2015, algorithm 1, and Loshchilov & Hutter 2019, algorithm 2: the t-th step.
State paper_step(const Setting& setting, Index t, const Tensor& gradient, const State& before) {
  auto [eta, beta1, beta2, eps, lambda, matrices_only] = setting.options;
  auto [theta, m, v] = before;
  Tensor g = setting.decoupled ? gradient : add(gradient, mul(theta, lambda));
  if (setting.decoupled) theta = sub(theta, mul(theta, eta * lambda));
  m = add(mul(m, beta1), mul(g, 1 - beta1));
  v = add(mul(v, beta2), mul(mul(g, g), 1 - beta2));
  Tensor m_hat = mul(m, 1 / (1 - std::pow(beta1, t)));
  Tensor v_hat = mul(v, 1 / (1 - std::pow(beta2, t)));
  theta = sub(theta, mul(div(m_hat, add(sqrt(v_hat), eps)), eta));
  return {theta, m, v};
}

Setting random_setting(std::mt19937_64& dice) {
  std::uniform_real_distribution<double> u(0, 1);
  auto one_of = [&](std::initializer_list<double> list) {
    return list.begin()[dice() % list.size()];
  };
  Setting s;
  s.options = {.rate = std::pow(10, -5 * u(dice)),
               .beta1 = one_of({0, 0.5, 0.9, 0.99}),
               .beta2 = one_of({0, 0.9, 0.98, 0.999}),
               .eps = one_of({0, 1e-9, 1e-8, 1e-3}),
               .weight_decay = one_of({0, 0.01, 0.5})};
  s.decoupled = dice() % 2 == 0;
  return s;
}

std::unique_ptr<Adam> adam_of(const Setting& s, const Var& parameter) {
  NamedParameters list{{"p", parameter}};
  if (s.decoupled) return std::make_unique<AdamW>(list, s.options);
  return std::make_unique<Adam>(list, s.options);
}

// max |x - y| / max |y|
double relative_distance(const Tensor& x, const Tensor& y) {
  Tensor difference = abs(sub(x.to(DType::Float64), y));
  return max(difference).item() / max(abs(y)).item();
}

bool near(const State& x, const State& y, double tolerance) {
  return relative_distance(x.theta, y.theta) <= tolerance &&
         relative_distance(x.m, y.m) <= tolerance && relative_distance(x.v, y.v) <= tolerance;
}

State state_of(const Adam& adam, const Var& parameter) {
  StateDict state = adam.state_dict();
  return {parameter.value(), state.at("exp_avg.p"), state.at("exp_avg_sq.p")};
}

// One step from a random state at a random time.
void check_step(std::mt19937_64& dice, DType dtype, double tolerance) {
  Setting setting = random_setting(dice);
  Index n = 1 + static_cast<Index>(dice() % 40), t = 1 + static_cast<Index>(dice() % 1000);
  auto drawn = [&] { return normal({n}, 0, 1, {dice(), dice()}, dtype); };
  Tensor theta = drawn(), gradient = drawn(), m = drawn(), v = abs(drawn());
  auto in64 = [](const Tensor& x) { return x.to(DType::Float64); };
  State expected = paper_step(setting, t, in64(gradient), {in64(theta), in64(m), in64(v)});

  Var parameter = Var::leaf(theta.clone());
  auto adam = adam_of(setting, parameter);
  adam->load_state_dict({{"rate", scalar(setting.options.rate, DType::Float64)},
                         {"steps", scalar(static_cast<double>(t - 1), DType::Int64)},
                         {"step.p", scalar(static_cast<double>(t - 1), DType::Int64)},
                         {"exp_avg.p", m},
                         {"exp_avg_sq.p", v}});
  parameter.leaf().grad = gradient;
  adam->step();
  const AdamOptions& o = setting.options;
  INFO((setting.decoupled ? "AdamW" : "Adam")
       << ", step " << t << ", " << n << " elements, rate " << o.rate << ", betas " << o.beta1
       << " " << o.beta2 << ", eps " << o.eps << ", decay " << o.weight_decay);
  CHECK(near(state_of(*adam, parameter), expected, tolerance));
}

}  // namespace

TEST_CASE("a step of Adam is the paper's", "[optim]") {
  std::mt19937_64 dice(5);
  for (int i = 0; i < 500; ++i) {
    check_step(dice, DType::Float64, 1e-12);
    check_step(dice, DType::Float32, 1e-6);
  }
}

}  // namespace test_adam_step
