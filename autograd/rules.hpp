// Shapes of rules that many ops share: Unary, Binary.
#pragma once

#include "autograd/op.hpp"

namespace glim {

// y = f(x): the op states `Var dx(const Var& dy) const`, and may have a kernel for it,
// `Tensor kernel(const Tensor& dy) const`, which may also return an AddTo.
template <class Self>
struct Unary : Op {
  enum Input { X };
  const Var& x() const { return saved(X); }
  const Var& y() const { return output(); }
  Grads gradient(const Var& dy) const final { return Grads(self().dx(dy)); }
  Grads fast_gradient(const Var& dy) const final {
    if constexpr (requires { self().kernel(dy.value()); })
      return Grads(self().kernel(dy.value()));
    else
      return gradient(dy);
  }
  Shape x_shape;  // set before forward (op_type.hpp)

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

// y = f(a, b): the op states `Var da(const Var& dy) const` and `db`.
template <class Self>
struct Binary : Op {
  enum Input { A, B };
  const Var& a() const { return saved(A); }
  const Var& b() const { return saved(B); }
  const Var& y() const { return output(); }
  Grads gradient(const Var& dy) const final {
    const Self& self = static_cast<const Self&>(*this);
    Grads d;
    if (needs_grad(A)) d[A] = self.da(dy);
    if (needs_grad(B)) d[B] = self.db(dy);
    return d;
  }
};

}  // namespace glim
