// Dropout (Srivastava et al. 2014, section 10, inverted scaling), alone and in a residual connection.
//
// i is the position in row-major order; the mask is drawn again from the key, not stored. ValueError
// unless 0 <= p <= 1; p = 1 gives zeros.
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

namespace glim {
namespace ops {

// addend + dropout(x), or dropout(x) where addend is undefined, in one pass; p in [0, 1). The mask never exists.
Tensor dropout_kernel(const Tensor& x, const Tensor& addend, double p, RandomKey key) {
  Tensor in = x.contiguous(), plus = contiguous_or_none(addend), y = empty(x.shape(), x.dtype());
  DropSpec spec = drop_spec(p, key);
  each_elements(y, [&]<class T>(Index begin, Index end) {
    dispatch<simd::dropout<T>>(spec, begin, end - begin, in.data<T>() + begin,
                               data_or_null<T>(plus, begin), y.data<T>() + begin);
  });
  return y;
}

struct Dropout final : Unary<Dropout> {
  static constexpr Formula formula{
      "dropout",
      "y_i = x_i / (1 - p), but 0 where word_at(key, i) < word_threshold(p)",
      {"dx = the same of dy, the mask drawn again"},
      "Srivastava et al. 2014"};
  Dropout(double probability, RandomKey k) : p(probability), key(k) {}
  Tensor forward(const Tensor& x) {
    return p == 1 ? zeros(x.shape(), x.dtype()) : dropout_kernel(x, {}, p, key);
  }
  Var dx(const Var& dy) const { return dropout(dy, p, key); }
  Arguments arguments() const override { return {{"p", p}}; }
  double p;
  RandomKey key;
};

struct AddDropout final : Fused {
  static constexpr Formula formula{
      "add_dropout", "y = x + dropout(h)", {"dx = dy", "dh = dropout(dy)"}};
  enum Input { X, H };
  AddDropout(double probability, RandomKey k) : p(probability), key(k) {}
  Var explicit_form(const Var& x, const Var& h) const { return x + dropout(h, p, key); }
  Grads gradient(const Var& dy) const override { return {{X, dy}, {H, dropout(dy, p, key)}}; }

  Tensor forward(const Tensor& x, const Tensor& h) { return dropout_kernel(h, x, p, key); }
  double p;
  RandomKey key;
};

void check(double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError("dropout", "the probability is outside [0, 1]");
}

}  // namespace ops

Var dropout(const Operand& x, double p, RandomKey key) {
  ops::check(p);
  if (p == 0) return x;
  require_floating(x->value(), "dropout");
  return apply(ops::Dropout(p, key), x);
}

Var add_dropout(const Operand& x, const Var& h, double p, RandomKey key) {
  ops::check(p);
  ops::AddDropout op(p, key);
  if (p == 0 || p == 1 || x->shape() != h.shape() || x->dtype() != h.dtype()) {
    CallSite site(x.where());
    return op.explicit_form(*x, h);
  }
  require_floating(x->value(), "dropout");
  return apply(std::move(op), x, h);
}

}  // namespace glim
