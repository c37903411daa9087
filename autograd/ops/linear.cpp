//   y = x Wᵀ + b      x: (..., I)   W: (O, I)   b: (O,)   y: (..., O)
#include "autograd/ops.hpp"

namespace glim {

Var linear(const Var& x, const Var& weight, const Var& bias, Where where) {
  if (weight.rank() != 2 || x.rank() < 1 || x.size(-1) != weight.size(1))
    throw with_operands(ShapeError("linear", "x must have as many columns as weight"),
                        Operand("x", x.value()), Operand("weight", weight.value()));
  Var y = matmul(x, transpose(weight, -2, -1, where), where);
  return bias.defined() ? add(y, bias, where) : y;
}

}  // namespace glim
