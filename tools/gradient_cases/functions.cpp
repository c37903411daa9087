#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family functions() {
  Family family{"functions"};
  struct {
    const char* op;
    const char* name;
    Var (*f)(const Var&);
    double low, high;
  } list[] = {
      {"exp", "e^x", [](const Var& x) { return exp(x); }, -2, 2},
      {"expm1", "e^x - 1", [](const Var& x) { return expm1(x); }, -2, 2},
      {"expm1", "near 0", [](const Var& x) { return expm1(x); }, -1e-3, 1e-3},
      {"log", "ln x", [](const Var& x) { return log(x); }, 0.3, 3},
      {"log1p", "ln(1 + x)", [](const Var& x) { return log1p(x); }, -0.7, 3},
      {"log1p", "near 0", [](const Var& x) { return log1p(x); }, -1e-3, 1e-3},
      {"sqrt", "√x", [](const Var& x) { return sqrt(x); }, 0.3, 3},
      {"sin", "sin x", [](const Var& x) { return sin(x); }, -4, 4},
      {"cos", "cos x", [](const Var& x) { return cos(x); }, -4, 4},
      {"abs", "|x|", [](const Var& x) { return abs(x); }, -2, 2},
      {"tanh", "tanh x", [](const Var& x) { return tanh(x); }, -3, 3},
      {"tanh", "saturated, beside x", [](const Var& x) { return tanh(x) + x; }, 20, 40},
      {"sigmoid", "1/(1 + e^-x)", [](const Var& x) { return sigmoid(x); }, -4, 4},
      {"sigmoid", "saturated, beside x", [](const Var& x) { return sigmoid(x) + x; }, -800, -700},
      {"erf", "erf x", [](const Var& x) { return erf(x); }, -2, 2},
      {"relu", "max(0, x)", [](const Var& x) { return relu(x); }, -2, 2},
      {"softplus", "ln(1 + e^x)", [](const Var& x) { return softplus(x); }, -4, 4},
      {"softplus", "β = 3", [](const Var& x) { return softplus(x, 3); }, -2, 2},
      {"softplus", "far out", [](const Var& x) { return softplus(x); }, 700, 800},
      {"elu", "x, or e^x - 1", [](const Var& x) { return elu(x); }, -2, 2},
      {"elu", "α = 0.5, far out", [](const Var& x) { return elu(x, 0.5); }, 700, 800},
      {"leaky_relu", "slope 0.1", [](const Var& x) { return leaky_relu(x, 0.1); }, -2, 2},
      {"silu", "x sigmoid(x)", [](const Var& x) { return silu(x); }, -4, 4},
      {"gelu", "x Φ(x)", [](const Var& x) { return gelu(x); }, -3, 3},
      {"gelu", "tanh form", [](const Var& x) { return gelu(x, GeluForm::Tanh); }, -3, 3},
      {"clamp", "within [-1, 0.5]", [](const Var& x) { return clamp(x, -1, 0.5); }, -1.2, 0.7},
  };
  for (auto& u : list) {
    const double middle = (u.low + u.high) / 2;
    family.add_drawn(u.op, u.name, uniform_in(u.low, u.high, {{2, 3}}), u.f);
    family.add_drawn(u.op, std::string(u.name) + ", one element",
                     uniform_in(middle, middle + 0.4, {{}}), u.f);
    family.add_empty(u.op, u.name, {{3, 0}}, {3, 0}, u.f);
  }
  family
      .add_drawn("relu", "at the kink", exactly({1, 0, -1, 0}),
                 [](const Var& x) { return relu(x); })
      .with_kinks();
  family.add_drawn("softplus", "at 0", exactly({0, -1, 0}),
                   [](const Var& x) { return softplus(x); });
  family
      .add_drawn("elu", "at 0, where it is smooth once", exactly({1, 0, -1, 0}),
                 [](const Var& x) { return elu(x); })
      .with_kinks();
  family
      .add_drawn("leaky_relu", "at the kink", exactly({1, 0, -1, 0}),
                 [](const Var& x) { return leaky_relu(x); })
      .with_kinks();
  family.add_drawn("abs", "at the kink", exactly({-1, 0, 1}), [](const Var& x) { return abs(x); })
      .with_kinks();
  family
      .add_drawn("clamp", "at its edges", exactly({0.25, -1, 0.5, 2}),
                 [](const Var& x) { return clamp(x, -1, 0.5); })
      .with_kinks();
  return family;
}

}  // namespace glim::specs
