// A charged particle starts at x = (0, 8) with the velocity v = (3/4, 0), repelled by charges at (10, 10 - w) and (10, 0):
//
//   x' = v      v' = -∇p(x)      p(x) = Σ_a 1/|x - a|
//
// by Euler steps of 0.1 until it meets the first axis. Descent finds the w for which this is at the origin: the function
// whose derivative by w it uses has the derivative ∇p inside.
#include "tools/benchmarks/gradbench/descent.hpp"

namespace glim::gradbench {
namespace {

// Where it lands, squared.
Var landing(const Var& w, Mode mode) {
  const double dt = 0.1;
  Var charges = tensor({10, 10, 10, 0}, {2, 2}, DType::Float64) -
                w * tensor({0, 1, 0, 0}, {2, 2}, DType::Float64);
  auto potential = [&](const Var& x) {
    Var apart = x - charges;
    return sum(1 / sqrt(sum(apart * apart, {1})));
  };
  Var x = tensor({0, 8}, DType::Float64), v = tensor({0.75, 0}, DType::Float64);
  for (Var next = x + dt * v; select(next.value(), 0, 1).item() > 0; next = x + dt * v) {
    v = v - dt * slope(potential, x, mode);
    x = next;
  }
  Var time = -select(x, 0, 1) / select(v, 0, 1);  // on a straight line
  Var position = select(x, 0, 0) + time * select(v, 0, 0);
  return position * position;
}

}  // namespace

Functions particle() {
  return nested([](const Json& input, Mode outer, Mode inner) {
    auto f = [inner](const Var& w) { return landing(w, inner); };
    return lowest(f, tensor_of(input.at("w")), outer).value();
  });
}

}  // namespace glim::gradbench
