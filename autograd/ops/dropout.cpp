//   y_i = x_i / (1 - p), but 0 where word_at(key, i) < word_threshold(p)
//   dx  = the same of dy: the mask is drawn again from the key, not stored
//
// i is the position in row-major order. Srivastava et al. 2014, section 10 (inverted scaling).
//
//   y = x + dropout(h)      dx = dy      dh = dropout(dy)          a residual connection, one pass
//
// ValueError unless 0 <= p <= 1; p = 1 gives zeros.
#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

// addend + dropout(x), or dropout(x) where addend is undefined; p in (0, 1).
Tensor drop(const Tensor& x, const Tensor& addend, double p, Key key) {
  Tensor in = x.contiguous(), plus = addend.defined() ? addend.contiguous() : addend;
  Tensor y = empty(x.shape(), x.dtype());
  DropSpec spec = drop_spec(p, key);
  visit_floating(x, "dropout", [&]<class T>() {
    parallel_for(x.numel(), 16384, [&](Index begin, Index end) {
      row_kernels<T>().dropout(spec, begin, end - begin, in.data<T>() + begin,
                               plus.defined() ? plus.data<T>() + begin : nullptr,
                               y.data<T>() + begin);
    });
  });
  return y;
}

struct Dropout final : Op {
  explicit Dropout(double p = 0, Key key = {}) : p_(p), key_(key) {}
  std::string_view name() const override { return "dropout"; }
  Tensor forward(const Tensor& x) {
    return p_ == 1 ? zeros(x.shape(), x.dtype()) : drop(x, {}, p_, key_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = dropout(dy, p_, key_);
    return d;
  }

 private:
  double p_;
  Key key_;
};

struct AddDropout final : FusedOp {
  enum Input { X, H };
  explicit AddDropout(double p = 0, Key key = {}) : p_(p), key_(key) {}
  std::string_view name() const override { return "add_dropout"; }
  Var composition(const std::vector<Var>& in) const override {
    return add(in[X], dropout(in[H], p_, key_));
  }
  Tensor forward(const Tensor& x, const Tensor& h) { return drop(h, x, p_, key_); }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (needs_grad(X)) d[X] = dy;
    if (needs_grad(H)) d[H] = dropout(dy, p_, key_);
    return d;
  }

 private:
  double p_;
  Key key_;
};

void check(double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError("dropout", "the probability lies outside [0, 1]");
}

}  // namespace

Var dropout(const Var& x, double p, Key key, Where where) {
  check(p);
  if (p == 0) return x;
  require_floating(x.value(), "dropout");
  return apply(where, Dropout(p, key), x);
}

Var add_dropout(const Var& x, const Var& h, double p, Key key, Where where) {
  check(p);
  bool kernel = p > 0 && p < 1 && x.shape() == h.shape() && x.dtype() == h.dtype();
  if (magnification() == Magnification::Explicit || !kernel)
    return add(x, dropout(h, p, key, where), where);
  require_floating(x.value(), "dropout");
  return apply(where, AddDropout(p, key), x, h);
}

}  // namespace glim
