// An affine map of rows, alone or as the hidden layer of a feed-forward network.
//
//   x: (..., I)   W: (O, I)   b: (O,) or undefined   y: (..., O)
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"

namespace glim {
namespace ops {

Var affine(const Var& x, const Var& weight, const Var& bias) {
  Var y = matmul(x, transpose(weight));
  return bias.defined() ? y + bias : y;
}

// Shared by both: u = x Wᵀ + b, and its gradients from du.
struct Affine : Fused {
  enum Input { X, Weight, Bias };

 protected:
  // All rows at once: (..., O) counts as (R, O).
  Grads affine_gradient(const Var& du, bool by_kernel) const {
    Var du_rows = rows(du);
    Grads d;
    if (needs_grad(X)) d[X] = reshape(matmul(du_rows, saved(Weight)), input_shape_);
    if (needs_grad(Weight)) {
      Var x_rows = rows(saved(X));
      d[Weight] = matmul(transpose(du_rows), x_rows);
    }
    if (needs_grad(Bias)) d[Bias] = by_kernel ? sum_of_rows(du_rows.value()) : sum(du_rows, {0});
    return d;
  }

  // The bias is added to each tile of the product while it is in the cache.
  Tensor product(const Tensor& x, const Tensor& weight, const Epilogue& epilogue) {
    if (needs_grad(Weight)) save(X);
    if (needs_grad(X)) save(Weight);
    input_shape_ = x.shape();
    Shape shape = input_shape_;
    shape[shape.rank() - 1] = weight.size(0);
    rows_ = 1;
    for (int i = 0; i + 1 < input_shape_.rank(); ++i) rows_ *= input_shape_[i];
    return reshape(matmul_then(reshape(x, {rows_, x.size(-1)}), transpose(weight), epilogue),
                   shape);
  }

 private:
  Var rows(const Var& v) const { return reshape(v, {rows_, v.size(-1)}); }
  Shape input_shape_;
  Index rows_ = 0;
};

struct Linear final : Affine {
  static constexpr Formula formula{
      "linear", "y = x Wᵀ + b", {"dx = dy W", "dW = dyᵀ x", "db = Σ_rows dy"}};
  Var explicit_form(const Var& x, const Var& weight, const Var& bias) const {
    return affine(x, weight, bias);
  }
  Grads gradient(const Var& dy) const override { return affine_gradient(dy, false); }

  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return product(x, weight, {bias, false, nullptr});
  }
  Grads fast_gradient(const Var& dy) const override { return affine_gradient(dy, true); }
};

// y alone says which elements were dropped or negative: neither u nor the mask is kept.
struct LinearRelu final : Affine {
  static constexpr Formula formula{
      "linear_relu",
      "y = dropout(max(0, u)), u = x Wᵀ + b",
      {"dx = du W, du = dy/(1 - p), 0 where y = 0", "dW = duᵀ x", "db = Σ_rows du"}};
  LinearRelu(double probability, RandomKey k) : p(probability), key(k) {}
  Var explicit_form(const Var& x, const Var& weight, const Var& bias) const {
    return dropout(relu(affine(x, weight, bias)), p, key);
  }
  Grads gradient(const Var& dy) const override {
    const Tensor zero = scalar(0, dy.dtype());
    return affine_gradient(where(equal(output().value(), 0), zero, dy / (1 - p)), false);
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    save_output();
    DropSpec drop = drop_spec(p, key);
    return product(x, weight, {bias, true, p > 0 ? &drop : nullptr});
  }
  Grads fast_gradient(const Var& dy) const override {
    return affine_gradient(relu_grad(output().value(), dy.value(), 1 / (1 - p)), true);
  }

 private:
  double p;
  RandomKey key;
};

void check(const Var& x, const Var& weight, const Var& bias) {
  if (weight.rank() != 2 || x.rank() < 1 || x.size(-1) != weight.size(1))
    throw ShapeError("linear", "x must have as many columns as weight",
                     {{"x", x.value()}, {"weight", weight.value()}});
  if (bias.defined() && bias.shape() != Shape{weight.size(0)})
    throw ShapeError("linear", "bias must have one element for each row of weight",
                     {{"weight", weight.value()}, {"bias", bias.value()}});
}

}  // namespace ops

Var linear(const Operand& x, const Var& weight, const Var& bias) {
  ops::check(x, weight, bias);
  return apply(ops::Linear{}, x, weight, bias);
}

Var linear_relu(const Operand& x, const Var& weight, const Var& bias, double dropout_p,
                RandomKey key) {
  ops::check(x, weight, bias);
  if (!(dropout_p >= 0 && dropout_p <= 1))
    throw ValueError("dropout", "the probability is outside [0, 1]");
  ops::LinearRelu op(dropout_p, key);
  if (dropout_p < 1) return apply(std::move(op), x, weight, bias);
  CallSite site(x.where());
  return op.explicit_form(*x, weight, bias);
}

}  // namespace glim
