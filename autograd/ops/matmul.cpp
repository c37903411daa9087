//   y = a b          a: (..., M, K)   b: (..., K, N)   y: (..., M, N)
//
// Leading axes broadcast; their gradient is summed back (sum_to). A vector counts as a matrix of
// one row (left) or one column (right).
#include "tensor/matmul/matmul.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace ops {

struct MatMul final : Binary<MatMul> {
  static constexpr Formula formula{"matmul", "y = a b", {"da = dy bᵀ", "db = aᵀ dy"}};
  Tensor forward(const Tensor& a, const Tensor& b) {
    if (needs_grad(B)) save(A);
    if (needs_grad(A)) save(B);
    a_shape = a.shape();
    b_shape = b.shape();
    return matmul(a, b);
  }
  Var da(const Var& dy) const { return sum_to(matmul(dy, transpose(b())), a_shape); }
  Var db(const Var& dy) const {
    // A matrix shared by all leading axes: one product with all rows, instead of a sum of many.
    if (b_shape.rank() == 2 && a_shape.rank() > 2) {
      Var dy_rows = rows(dy);
      return matmul(transpose(rows(a())), dy_rows);
    }
    return sum_to(matmul(transpose(a()), dy), b_shape);
  }

  static Var rows(const Var& x) {  // (..., n) -> (R, n); n may be 0
    Index r = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) r *= x.shape()[i];
    return reshape(x, {r, x.size(-1)});
  }
  Shape a_shape, b_shape;
};

}  // namespace ops

Var matmul(const Operand& a, const Var& b) {
  if (a->rank() != 1 && b.rank() != 1) return apply(ops::MatMul{}, a, b);
  CallSite site(a.where());
  if (a->rank() == 1 && b.rank() >= 1)
    return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1 && a->rank() >= 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  return apply(ops::MatMul{}, a, b);
}

}  // namespace glim
