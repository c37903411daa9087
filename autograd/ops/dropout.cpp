//   y_i = x_i / (1 - p), but 0 where word_at(key, i) < word_threshold(p)
//   dx  = the same of dy: the mask is drawn again from the key, not stored
//
// i is the position in row-major order. Srivastava et al. 2014, section 10 (inverted scaling).
// ValueError unless 0 <= p <= 1; p = 1 gives zeros.
#include "autograd/ops/fused.hpp"
#include "tensor/elementwise.hpp"

namespace glim {
namespace {

struct Dropout final : Op {
  explicit Dropout(double p = 0, Key key = {}) : p_(p), key_(key) {}
  std::string_view name() const override { return "dropout"; }
  Tensor forward(const Tensor& x) {
    if (p_ == 1) return zeros(x.shape(), x.dtype());
    Tensor in = x.contiguous(), y = empty(x.shape(), x.dtype());
    DropSpec drop = drop_spec(p_, key_);
    visit_floating(x, "dropout", [&]<class T>() {
      parallel_for(x.numel(), 16384, [&](Index begin, Index end) {
        row_kernels<T>().dropout(drop, begin, end - begin, in.data<T>() + begin, nullptr,
                                 y.data<T>() + begin);
      });
    });
    return y;
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
  require_floating(x.value(), "dropout");
  return apply(where, Dropout(p, key), x);
}

}  // namespace glim
