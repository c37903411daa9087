//   y[2i]   = x[2i] cos θ - x[2i+1] sin θ
//   y[2i+1] = x[2i] sin θ + x[2i+1] cos θ      θ = θ[t, i]
//
// Each pair of neighbouring columns is a point of the plane, turned by an angle (Su et al. 2021,
// arXiv 2104.09864, equation 15). A rotation is orthogonal: the gradient is turned back.
//
//   x, y: (..., T, D)      cos, sin: (T, D/2)
//
//   dx = dy turned by -θ      reads cos, sin
#include "autograd/ops/fused.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

struct RotatePairs final : Op {
  RotatePairs() = default;
  RotatePairs(Tensor cos, Tensor sin) : cos_(std::move(cos)), sin_(std::move(sin)) {}
  std::string_view name() const override { return "rotate_pairs"; }

  Tensor forward(const Tensor& x) {
    Rows in = rows_of(x);
    Tensor y = empty(x.shape(), x.dtype()), c = cos_.contiguous(), s = sin_.contiguous();
    Index length = x.size(-2), pairs = in.columns / 2;
    visit_floating(x, name(), [&]<class T>() {
      parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
          const T* from = in.x.data<T>() + r * in.ld;
          const T *cosine = c.data<T>() + r % length * pairs,
                  *sine = s.data<T>() + r % length * pairs;
          T* to = y.data<T>() + r * in.columns;
          for (Index i = 0; i < pairs; ++i) {
            T a = from[2 * i], b = from[2 * i + 1];
            to[2 * i] = a * cosine[i] - b * sine[i];
            to[2 * i + 1] = a * sine[i] + b * cosine[i];
          }
        }
      });
    });
    return y;
  }

  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = rotate_pairs(dy, cos_, neg(sin_));
    return d;
  }

 private:
  Tensor cos_, sin_;
};

}  // namespace

Var rotate_pairs(const Var& x, const Tensor& cos, const Tensor& sin, Where where) {
  require_floating(x.value(), "rotate_pairs");
  bool fits = x.rank() >= 2 && x.size(-1) % 2 == 0 && cos.rank() == 2 &&
              cos.shape() == sin.shape() && cos.size(0) == x.size(-2) &&
              2 * cos.size(1) == x.size(-1);
  if (!fits)
    throw with_operands(
        ShapeError("rotate_pairs", "x (..., T, D) with D even needs cos and sin (T, D/2)"),
        Operand("x", x.value()), Operand("cos", cos), Operand("sin", sin));
  if (cos.dtype() != x.dtype() || sin.dtype() != x.dtype())
    throw with_operands(DTypeError("rotate_pairs", "cos and sin need x's dtype"),
                        Operand("x", x.value()), Operand("cos", cos), Operand("sin", sin));
  return apply(where, RotatePairs(cos, sin), x);
}

}  // namespace glim
