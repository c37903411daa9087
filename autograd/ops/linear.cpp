// An affine map of rows, alone or as the hidden layer of a feed-forward network.
//
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
#include "tensor/matmul/matmul.hpp"
#include "tensor/matmul/nonzeros.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

Tensor sum_of_rows(const Tensor& dy) {
  Rows in = rows_of(dy);
  Index piece = 4 * rows_per_piece(in.columns);
  Tensor sums = zeros({std::max<Index>(1, (in.count + piece - 1) / piece), in.columns}, dy.dtype());
  visit_floating(dy, "linear", [&]<class T>() {
    parallel_for(in.count, piece, [&](Index begin, Index end) {
      row_kernels<T>().sum_rows(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                                sums.data<T>() + begin / piece * in.columns);
    });
  });
  return sum_of_pieces(sums);
}

namespace {

Var composed(const Var& x, const Var& weight, const Var& bias, Where where) {
  Var y = matmul(x, transpose(weight, -2, -1, where), where);
  return bias.defined() ? add(y, bias, where) : y;
}

struct Linear : FusedOp {
  enum Input { X, Weight, Bias };

 protected:
  Tensor product(const Tensor& x, const Tensor& weight, const Epilogue& epilogue) {
    if (needs_grad(Weight)) save(X);
    if (needs_grad(X)) save(Weight);
    from_ = x.shape();
    Shape shape = from_;
    shape[shape.rank() - 1] = weight.size(0);
    rows_ = 1;
    for (int i = 0; i + 1 < from_.rank(); ++i) rows_ *= from_[i];
    return matmul_then(x.reshape({rows_, x.size(-1)}), weight.transpose(), epilogue).reshape(shape);
  }

  // From the gradient of x Wᵀ + b.
  Grads gradients(const Var& du) const {
    auto rows = [&](const Var& v) { return reshape(v, {rows_, v.size(-1)}); };
    Grads d;
    Var up = rows(du);  // (..., O) -> (R, O)
    if (needs_grad(X)) d[X] = reshape(matmul(up, saved(Weight)), from_);
    if (needs_grad(Weight)) d[Weight] = matmul(transpose(up), rows(saved(X)));
    if (needs_grad(Bias)) d[Bias] = recording() ? sum(up, {0}) : Var(sum_of_rows(up.value()));
    return d;
  }

 private:
  Shape from_;
  Index rows_ = 0;
};

struct PlainLinear final : Linear {
  std::string_view name() const override { return "linear"; }
  Var composition(const std::vector<Var>& in) const override {
    return composed(in[X], in[Weight], in[Bias], Where::current());
  }
  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return product(x, weight, {bias, false, nullptr});
  }
  Grads backward(const Var& dy) const override { return gradients(dy); }
};

//   h = dropout(max(0, u)), u = x Wᵀ + b      du = h > 0 ? dh/(1 - p) : 0      reads h
//
// h alone says which elements were dropped or negative: neither u nor the mask is kept. Half of it is
// zeros, and a large h is kept without them (tensor/matmul/nonzeros.hpp), for whoever reads it.
struct LinearRelu final : Linear {
  explicit LinearRelu(double p = 0, Key key = {}) : p_(p), key_(key) {}
  std::string_view name() const override { return "linear_relu"; }
  Var composition(const std::vector<Var>& in) const override {
    return dropout(relu(composed(in[X], in[Weight], in[Bias], Where::current())), p_, key_);
  }
  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    save_output();
    DropSpec drop = drop_spec(p_, key_);
    Tensor h = product(x, weight, {bias, true, p_ > 0 ? &drop : nullptr});
    if (is_large(h, kLarge) && (needs_grad(X) || needs_grad(Weight) || needs_grad(Bias)))
      kept_ = NonZeros(h);
    return h;
  }
  Index held_bytes() const override { return kept_.bytes(); }
  bool recomputes() const override { return kept_.defined(); }
  Tensor recompute() const override {
    if (!h_.defined()) h_ = kept_.dense();
    return h_;
  }
  Grads backward(const Var& dh) const override {
    double scale = 1 / (1 - p_);
    if (recording())
      return gradients(
          where(greater(output().value(), 0.0), mul(dh, scale), Var(scalar(0, dh.dtype()))));
    // The last to read what was computed again: du takes its place, unless someone else holds it.
    Tensor h = kept_.defined() ? recompute() : output().value();
    h_ = {};
    Tensor du = h.storage().use_count() == 1 ? h : empty(h.shape(), h.dtype());
    relu_grad_into(du, h, dh.value(), scale);
    return gradients(Var(du));
  }

 private:
  static constexpr Index kLarge = Index{4} << 20;  // bytes: it takes three passes
  double p_;
  Key key_;
  NonZeros kept_;
  mutable Tensor h_;  // from the first reader in backward on
};

void check(const Var& x, const Var& weight, const Var& bias) {
  if (weight.rank() != 2 || x.rank() < 1 || x.size(-1) != weight.size(1))
    throw with_operands(ShapeError("linear", "x must have as many columns as weight"),
                        Operand("x", x.value()), Operand("weight", weight.value()));
  if (bias.defined() && bias.shape() != Shape{weight.size(0)})
    throw with_operands(ShapeError("linear", "bias must have one element for each row of weight"),
                        Operand("weight", weight.value()), Operand("bias", bias.value()));
}

}  // namespace

Tensor relu_grad(const Tensor& y, const Tensor& dy, double scale) {
  Tensor dx = empty(y.shape(), y.dtype());
  relu_grad_into(dx, y, dy, scale);
  return dx;
}

void relu_grad_into(const Tensor& dx, const Tensor& y, const Tensor& dy, double scale) {
  Tensor out = y.contiguous(), up = dy.contiguous();
  visit_floating(y, "relu", [&]<class T>() {
    parallel_for(y.numel(), 16384, [&](Index begin, Index end) {
      row_kernels<T>().relu_grad(end - begin, out.data<T>() + begin, up.data<T>() + begin,
                                 static_cast<T>(scale), dx.data<T>() + begin);
    });
  });
}

Var linear(const Var& x, const Var& weight, const Var& bias, Where where) {
  check(x, weight, bias);
  if (magnification() == Magnification::Explicit) return composed(x, weight, bias, where);
  return apply(where, PlainLinear{}, x, weight, bias);
}

Var linear_relu(const Var& x, const Var& weight, const Var& bias, double dropout_p, Key key,
                Where where) {
  check(x, weight, bias);
  if (!(dropout_p >= 0 && dropout_p <= 1))
    throw ValueError("dropout", "the probability lies outside [0, 1]");
  if (magnification() == Magnification::Explicit || dropout_p == 1)
    return dropout(relu(composed(x, weight, bias, where), where), dropout_p, key, where);
  return apply(where, LinearRelu(dropout_p, key), x, weight, bias);
}

}  // namespace glim
