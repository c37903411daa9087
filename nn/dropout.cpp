#include "nn/dropout.hpp"

#include "tensor/print.hpp"

namespace glim {

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1))
    throw ValueError("dropout", "the probability " + number_text(p) + " is outside [0, 1]");
}

Var Dropout::forward(const Var& x) {
  return training() && p_ > 0 ? dropout(x, p_, generator().next()) : x;
}

Var Dropout::add_to(const Var& x, const Var& h) {
  if (!training() || p_ == 0) return x + h;
  return in_scope([&] { return add_dropout(x, h, p_, generator().next()); });
}

}  // namespace glim
