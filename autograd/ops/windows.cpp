// Sliding windows over images with channels last (tensor/ops/windows.hpp).
//
//   unfold: y[b, p, q, i, j, c] = x[b, p·s + i·d - before, q·s + j·d - before, c], `fill` outside x
//   fold:   the sum over all (p, q, i, j) that meet one position: unfold's adjoint
#include "tensor/ops/windows.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace {

//   dx = fold(dy)
struct Unfold final : Op {
  Unfold() = default;
  Unfold(const Window& rows, const Window& columns, double fill)
      : rows_(rows), columns_(columns), fill_(fill) {}
  std::string_view name() const override { return "unfold"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return unfold(x, rows_, columns_, fill_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = fold(dy, from_[1], from_[2], rows_, columns_);
    return d;
  }

 private:
  Window rows_, columns_;
  double fill_ = 0;
  Shape from_;
};

//   dy = unfold(dx), 0 outside
struct Fold final : Op {
  Fold() = default;
  Fold(Index height, Index width, const Window& rows, const Window& columns)
      : height_(height), width_(width), rows_(rows), columns_(columns) {}
  std::string_view name() const override { return "fold"; }
  Tensor forward(const Tensor& y) { return fold(y, height_, width_, rows_, columns_); }
  Grads backward(const Var& dx) const override {
    Grads d;
    d[0] = unfold(dx, rows_, columns_);
    return d;
  }

 private:
  Index height_ = 0, width_ = 0;
  Window rows_, columns_;
};

}  // namespace

Var unfold(const Var& x, const Window& rows, const Window& columns, double fill, Where where) {
  return apply(where, Unfold(rows, columns, fill), x);
}
Var fold(const Var& y, Index height, Index width, const Window& rows, const Window& columns,
         Where where) {
  return apply(where, Fold(height, width, rows, columns), y);
}

}  // namespace glim
