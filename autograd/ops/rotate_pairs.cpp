// Rotation of pairs of neighbouring columns: each is a point of the plane, turned by an angle θ[t, i].
//
//   x, y: (..., T, D)      cos, sin: (T, D/2)
//
// A rotation is orthogonal: the gradient is turned back.
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

namespace glim {
namespace ops {

struct RotatePairs final : Unary<RotatePairs> {
  static constexpr Formula formula{
      "rotate_pairs",
      "y[2i] = x[2i] cos θ - x[2i+1] sin θ, y[2i+1] = x[2i] sin θ + x[2i+1] cos θ",
      {"dx = dy turned by -θ"},
      "Su et al. 2021, eq. 15"};
  RotatePairs(Tensor c, Tensor s) : cosine(std::move(c)), sine(std::move(s)) {}
  Tensor forward(const Tensor& x) {
    LastAxis in = rows_of(x);
    Tensor y = empty(x.shape(), x.dtype()), c = cosine.to(x.dtype()).contiguous(),
           s = sine.to(x.dtype()).contiguous();
    Index length = x.size(-2), pairs = in.columns / 2;
    each_rows(in, [&]<class T>(Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Index position = r % length * pairs;
        const T *source = in.at<T>(r), *cos = c.data<T>() + position, *sin = s.data<T>() + position;
        T* target = y.data<T>() + r * in.columns;
        for (Index i = 0; i < pairs; ++i) {
          T a = source[2 * i], b = source[2 * i + 1];
          target[2 * i] = a * cos[i] - b * sin[i];
          target[2 * i + 1] = a * sin[i] + b * cos[i];
        }
      }
    });
    return y;
  }
  Var dx(const Var& dy) const { return rotate_pairs(dy, cosine, neg(sine)); }
  Arguments arguments() const override { return {{"cos", cosine}, {"sin", sine}}; }
  Tensor cosine, sine;
};

}  // namespace ops

Var rotate_pairs(const Operand& x, const Tensor& cos, const Tensor& sin) {
  require_floating(x->value(), "rotate_pairs");
  bool fits = x->rank() >= 2 && x->size(-1) % 2 == 0 && cos.rank() == 2 &&
              cos.shape() == sin.shape() && cos.size(0) == x->size(-2) &&
              2 * cos.size(1) == x->size(-1);
  if (!fits)
    throw ShapeError("rotate_pairs", "x (..., T, D) with D even needs cos and sin (T, D/2)",
                     {{"x", x->value()}, {"cos", cos}, {"sin", sin}});
  if (cos.dtype() != x->dtype() || sin.dtype() != x->dtype())
    throw DTypeError("rotate_pairs", "cos and sin need x's dtype",
                     {{"x", x->value()}, {"cos", cos}, {"sin", sin}});
  return apply(ops::RotatePairs(cos, sin), x);
}

}  // namespace glim
