//   y_i = x_i / (1 - p) where uniform_at(key, i) >= p, else 0
//   dx  = the same of dy: the mask is drawn again from the key, not stored
//
// i is the position in row-major order. Srivastava et al. 2014, section 10 (inverted scaling).
// ValueError unless 0 <= p <= 1; p = 1 gives zeros.
#include "autograd/ops.hpp"
#include "tensor/elementwise.hpp"

namespace glim {
namespace {

struct Dropout final : Op {
  explicit Dropout(double p = 0, Key key = {}) : p_(p), key_(key) {}
  std::string_view name() const override { return "dropout"; }
  Tensor forward(const Tensor& x) {
    require_floating(x, "dropout");
    if (p_ == 1) return zeros(x.shape(), x.dtype());
    Tensor drop = bernoulli(x.shape(), p_, key_);
    return where(drop, scalar(0, x.dtype()), mul(x, 1 / (1 - p_)));
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

}  // namespace

Var dropout(const Var& x, double p, Key key, Where where) {
  if (!(p >= 0 && p <= 1)) throw ValueError("dropout", "the probability lies outside [0, 1]");
  if (p == 0) return x;
  return apply(where, Dropout(p, key), x);
}

}  // namespace glim
