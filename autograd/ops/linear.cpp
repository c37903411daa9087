//   y = x Wᵀ + b      x: (..., I)   W: (O, I)   b: (O,)   y: (..., O)
//
//   dx = dy W         reads W
//   dW = dyᵀ x        reads x; one product over all rows
//   db = Σ_rows dy
//
// The bias is added to each tile of the product while it is in the cache. Backward, when it is
// itself recorded, is written in matmul and sum: they are what the kernels compute.
#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"
#include "tensor/matmul.hpp"

namespace glim {
namespace {

Var composed(const Var& x, const Var& weight, const Var& bias, Where where) {
  Var y = matmul(x, transpose(weight, -2, -1, where), where);
  return bias.defined() ? add(y, bias, where) : y;
}

// Σ over the rows of (R, O), in pieces of rows that depend on the extents alone.
Tensor sum_of_rows(const Tensor& dy) {
  Rows in = rows_of(dy);
  Index piece = 4 * rows_per_piece(in.columns);
  Index pieces = std::max<Index>(1, (in.count + piece - 1) / piece);
  Tensor sums = zeros({pieces, in.columns}, dy.dtype());
  visit_floating(dy, "linear", [&]<class T>() {
    T* total = sums.data<T>();
    parallel_for(in.count, piece, [&](Index begin, Index end) {
      row_kernels<T>().sum_rows(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                                total + begin / piece * in.columns);
    });
    row_kernels<T>().sum_rows(pieces - 1, in.columns, total + in.columns, in.columns, total);
  });
  return sums.select(0, 0);
}

struct LinearOp final : FusedOp {
  enum Input { X, Weight, Bias };
  std::string_view name() const override { return "linear"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[X], in[Weight], in[Bias], Where::current());
  }

  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    if (needs_grad(Weight)) save(X);
    if (needs_grad(X)) save(Weight);
    from_ = x.shape();
    Shape shape = from_;
    shape[shape.rank() - 1] = weight.size(0);
    Tensor rows = x.reshape({rows_in(x), x.size(-1)}), columns = weight.transpose();
    Tensor y = bias.defined() ? matmul_bias(rows, columns, bias) : matmul(rows, columns);
    return y.reshape(shape);
  }

  Grads backward(const Var& dy) const override {
    Grads d;
    Index count = 1;
    for (int i = 0; i + 1 < from_.rank(); ++i) count *= from_[i];
    auto rows = [&](const Var& v) {
      return reshape(v, {count, v.size(-1)});
    };  // (..., n) -> (R, n)
    Var up = rows(dy);
    if (needs_grad(X)) d[X] = reshape(matmul(up, saved(Weight)), from_);
    if (needs_grad(Weight)) d[Weight] = matmul(transpose(up), rows(saved(X)));
    if (needs_grad(Bias)) d[Bias] = recording() ? sum(up, {0}) : Var(sum_of_rows(up.value()));
    return d;
  }

 private:
  static Index rows_in(const Tensor& x) {
    Index n = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) n *= x.shape()[i];
    return n;
  }
  Shape from_;
};

}  // namespace

Var linear(const Var& x, const Var& weight, const Var& bias, Where where) {
  if (weight.rank() != 2 || x.rank() < 1 || x.size(-1) != weight.size(1))
    throw with_operands(ShapeError("linear", "x must have as many columns as weight"),
                        Operand("x", x.value()), Operand("weight", weight.value()));
  if (bias.defined() && bias.shape() != Shape{weight.size(0)})
    throw with_operands(ShapeError("linear", "bias must have one element for each row of weight"),
                        Operand("weight", weight.value()), Operand("bias", bias.value()));
  if (magnification() == Magnification::Explicit) return composed(x, weight, bias, where);
  return apply(where, LinearOp{}, x, weight, bias);
}

}  // namespace glim
