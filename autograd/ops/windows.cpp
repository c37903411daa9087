// Sliding windows over images with channels last (tensor/ops/windows.hpp): unfold and its adjoint fold.
#include "tensor/ops/windows.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace ops {

Dims data_of(const Window& w) { return {w.kernel, w.stride, w.dilation, w.before, w.after}; }

struct Unfold final : Unary<Unfold> {
  static constexpr Formula formula{
      "unfold",
      "y[b, p, q, i, j, c] = x[b, p·s + i·d - before, q·s + j·d - before, c], fill outside x",
      {"dx = fold(dy)"}};
  Unfold(const Window& r, const Window& c, double f) : rows(r), columns(c), fill(f) {}
  Tensor forward(const Tensor& x) { return unfold(x, rows, columns, fill); }
  Var dx(const Var& dy) const { return fold(dy, x_shape[1], x_shape[2], rows, columns); }
  Arguments arguments() const override {
    return {{"rows", data_of(rows)}, {"columns", data_of(columns)}, {"fill", fill}};
  }
  Window rows, columns;
  double fill;
};

struct Fold final : Unary<Fold> {
  static constexpr Formula formula{"fold",
                                   "y = Σ x over the windows (p, q, i, j) that meet one position",
                                   {"dx = unfold(dy), 0 outside"}};
  Fold(Index h, Index w, const Window& r, const Window& c)
      : height(h), width(w), rows(r), columns(c) {}
  Tensor forward(const Tensor& x) { return fold(x, height, width, rows, columns); }
  Var dx(const Var& dy) const { return unfold(dy, rows, columns); }
  Arguments arguments() const override {
    return {{"height", height},
            {"width", width},
            {"rows", data_of(rows)},
            {"columns", data_of(columns)}};
  }
  Index height, width;
  Window rows, columns;
};

}  // namespace ops

Var unfold(const Operand& x, const Window& rows, const Window& columns, double fill) {
  return apply(ops::Unfold(rows, columns, fill), x);
}
Var fold(const Operand& x, Index height, Index width, const Window& rows, const Window& columns) {
  return apply(ops::Fold(height, width, rows, columns), x);
}

}  // namespace glim
