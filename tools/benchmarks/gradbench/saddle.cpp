// A saddle point: min over x of max over y of f(x, y) = |x|² - |y|², each by descent from the same start. The derivative
// by x goes through the inner descent with its derivatives by y.
#include "tools/benchmarks/gradbench/descent.hpp"

namespace glim::gradbench {
namespace {

Var f(const Var& x, const Var& y) { return sum(x * x) - sum(y * y); }

// The y of the largest f(x, y).
Var highest(const Var& x, const Tensor& start, Mode mode) {
  return lowest([&](const Var& y) { return -f(x, y); }, start, mode);
}

}  // namespace

Functions saddle() {
  return nested([](const Json& input, Mode outer, Mode inner) {
    const Tensor start = tensor_of(input.at("start"));
    auto top = [&](const Var& x) { return f(x, highest(x, start, inner)); };
    const Var x = lowest(top, start, outer);
    return concatenate({x, highest(x, start, outer)}, 0).value();
  });
}

}  // namespace glim::gradbench
