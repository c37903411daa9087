#include "nn/init.hpp"

#include <cmath>

#include "tensor/error.hpp"
#include "tensor/random.hpp"

namespace glim {
namespace {

// Without inputs (or outputs) there is nothing to scale.
double over_root(double gain, double fan) { return fan > 0 ? gain / std::sqrt(fan) : 0; }

double xavier_deviation(const Tensor& x, double gain) {
  Fans fans = fans_of(x.shape());
  return over_root(gain * std::sqrt(2.0), static_cast<double>(fans.in + fans.out));
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2)
    throw ShapeError("init", "fans need a weight (out, in, ...), not " + to_string(shape));
  Index rest = 1;
  for (int i = 2; i < shape.rank(); ++i) rest *= shape[i];
  return {shape[1] * rest, shape[0] * rest};
}

void uniform_(const Tensor& x, double low, double high) {
  x.copy_(uniform(x.shape(), low, high, generator().next(), x.dtype()));
}
void normal_(const Tensor& x, double mean, double deviation) {
  x.copy_(normal(x.shape(), mean, deviation, generator().next(), x.dtype()));
}
void xavier_uniform_(const Tensor& x, double gain) {
  double a = std::sqrt(3.0) * xavier_deviation(x, gain);
  uniform_(x, -a, a);
}
void xavier_normal_(const Tensor& x, double gain) { normal_(x, 0, xavier_deviation(x, gain)); }
void kaiming_uniform_(const Tensor& x, double slope) {
  double fan_in = static_cast<double>(fans_of(x.shape()).in);
  double a = std::sqrt(3.0) * over_root(std::sqrt(2 / (1 + slope * slope)), fan_in);
  uniform_(x, -a, a);
}

}  // namespace glim
