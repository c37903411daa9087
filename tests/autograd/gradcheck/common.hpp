// Shared by the tests of the checker: random inputs, and a square whose gradient may be wrong.
#pragma once

#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/autograd/gradcheck/decided.hpp"
#include "tests/catch.hpp"

namespace glim::wrongs {

using Mode = GradcheckOptions::Mode;
using Vars = std::vector<Var>;

inline Tensor random(const Shape& shape, std::uint64_t stream, DType dtype = DType::Float64) {
  return uniform(shape, -2, 2, {11, stream}, dtype);
}

// y = x², with backward times `factor`.
struct Squared final : Unary<Squared> {
  static constexpr Formula formula{"planted.squared", "y = x²", {"dx = 2 x dy"}};
  explicit Squared(double f) : factor(f) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return mul(x, x);
  }
  Var dx(const Var& dy) const { return factor * (dy * x()); }
  double factor;
};
inline Var squared(const Var& x, double factor = 2) { return apply(Squared(factor), x); }

}  // namespace glim::wrongs
