#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {
namespace {

struct Function {
  std::string op, name;
  double low, high;
  bool kinked;
  std::function<Var(const Var&)> f;
};

void add(Family& family, const Function& c) {
  const double middle = (c.low + c.high) / 2;
  family.add_drawn(c.op, c.name, uniform_in(c.low, c.high, {{2, 3}}), c.f);
  family.add_drawn(c.op, c.name + ", one element", uniform_in(middle, middle + 0.4, {{}}), c.f);
  family.add_empty(c.op, c.name, {{3, 0}}, {3, 0}, c.f);
  if (c.low < 0 && c.high > 0) {
    Spec& at_zero = family.add_drawn(c.op, c.name + ", at 0", exactly({0.25, 0, -0.5, 0}), c.f);
    if (c.kinked) at_zero.with_kinks();
  }
}

}  // namespace

Family functions() {
  Family family{"functions"};
  constexpr bool smooth = false, kinked = true;
#define GLIM_CASE(name, equation, gradient, read, rule, low, high, slope, ...) \
  add(family, {#name, equation, low, high, slope, [](const Var& x) { return glim::name(x); }});
  GLIM_FUNCTIONS(GLIM_CASE)
#undef GLIM_CASE
  const Function list[] = {
      {"expm1", "near 0", -1e-3, 1e-3, smooth, [](const Var& x) { return expm1(x); }},
      {"log1p", "near 0", -1e-3, 1e-3, smooth, [](const Var& x) { return log1p(x); }},
      {"tanh", "saturated, beside x", 20, 40, smooth, [](const Var& x) { return tanh(x) + x; }},
      {"sigmoid", "saturated, beside x", -800, -700, smooth,
       [](const Var& x) { return sigmoid(x) + x; }},
      {"softplus", "β = 3", -2, 2, smooth, [](const Var& x) { return softplus(x, 3); }},
      {"softplus", "far out", 700, 800, smooth, [](const Var& x) { return softplus(x); }},
      {"elu", "x, or e^x - 1", -2, 2, kinked, [](const Var& x) { return elu(x); }},
      {"elu", "α = 0.5, far out", 700, 800, smooth, [](const Var& x) { return elu(x, 0.5); }},
      {"leaky_relu", "slope 0.1", -2, 2, kinked, [](const Var& x) { return leaky_relu(x, 0.1); }},
      {"silu", "x sigmoid(x)", -4, 4, smooth, [](const Var& x) { return silu(x); }},
      {"gelu", "x Φ(x)", -3, 3, smooth, [](const Var& x) { return gelu(x); }},
      {"gelu", "tanh form", -3, 3, smooth, [](const Var& x) { return gelu(x, GeluForm::Tanh); }},
      {"clamp", "within [-1, 0.5]", -1.2, 0.7, smooth,
       [](const Var& x) { return clamp(x, -1, 0.5); }},
  };
  for (const Function& c : list) add(family, c);
  family
      .add_drawn("clamp", "at its edges", exactly({0.25, -1, 0.5, 2}),
                 [](const Var& x) { return clamp(x, -1, 0.5); })
      .with_kinks();
  return family;
}

}  // namespace glim::specs
