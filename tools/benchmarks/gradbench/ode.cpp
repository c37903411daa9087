// An ordinary differential equation, y_0' = x_0 and y_i' = x_i y_(i-1), from y(0) = 0 to y(2) in s steps of the classical
// Runge-Kutta method. The gradient is that of the last y_i.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

Var solved(const Var& x, Index steps) {
  auto slope = [&](const Var& y) { return x * pad(y, {{1, -1}}, 1); };  // x ⊙ [1, y_0, y_1, ...]
  const double h = 2.0 / steps;
  Var y = zeros(x.shape(), DType::Float64);
  for (Index step = 0; step < steps; ++step) {
    Var k1 = slope(y), k2 = slope(y + h / 2 * k1), k3 = slope(y + h / 2 * k2),
        k4 = slope(y + h * k3);
    y = y + h / 6 * (k1 + 2 * (k2 + k3) + k4);
  }
  return y;
}

}  // namespace

Functions ode() {
  auto problem = [](bool last) {
    return [last](const Json& input) -> Problem {
      Var x = leaf_of(input.at("x"));
      return {{x}, [x, steps = input.at("s").get<Index>(), last] {
                Var y = solved(x, steps);
                return last ? select(y, 0, -1) : y;
              }};
    };
  };
  return {value("primal", problem(false)), gradient("gradient", problem(true))};
}

}  // namespace glim::gradbench
