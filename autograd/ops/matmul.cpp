//   y = a b          a: (..., M, K)   b: (..., K, N)   y: (..., M, N)
//
//   da = dy bᵀ       reads b
//   db = aᵀ dy       reads a
//
// Leading axes broadcast; their gradient is summed back (sum_to). A vector counts as a matrix of
// one row (left) or one column (right).
#include "tensor/matmul/matmul.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace {

struct MatMul final : Op {
  enum Input { A, B };
  std::string_view name() const override { return "matmul"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    if (needs_grad(B)) save(A);
    if (needs_grad(A)) save(B);
    a_shape_ = a.shape();
    b_shape_ = b.shape();
    return matmul(a, b);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    // A matrix shared by all leading axes: one product with all rows, instead of a sum of many.
    bool shared = b_shape_.rank() == 2 && a_shape_.rank() > 2;
    if (needs_grad(A)) d[A] = sum_to(matmul(dy, transpose(saved(B))), a_shape_);
    if (needs_grad(B)) {
      if (shared)
        d[B] = matmul(transpose(rows(saved(A))), rows(dy));
      else
        d[B] = sum_to(matmul(transpose(saved(A)), dy), b_shape_);
    }
    return d;
  }

 private:
  static Var rows(const Var& x) {  // (..., n) -> (R, n); n may be 0
    Index r = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) r *= x.shape()[i];
    return reshape(x, {r, x.size(-1)});
  }
  Shape a_shape_, b_shape_;
};

}  // namespace

Var matmul(const Var& a, const Var& b, Where where) {
  if (a.rank() == 1 && b.rank() >= 1)
    return squeeze(matmul(unsqueeze(a, 0, where), b, where), b.rank() == 1 ? 0 : -2, where);
  if (b.rank() == 1 && a.rank() >= 1)
    return squeeze(matmul(a, unsqueeze(b, 1, where), where), -1, where);
  return apply(where, MatMul{}, a, b);
}

}  // namespace glim
