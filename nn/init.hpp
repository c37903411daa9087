// Initial values, written in place. Random ones draw one stream of generator() each.
//
//   xavier    deviation gain √(2/(fan_in + fan_out))      Glorot & Bengio 2010, equation 16
//   kaiming   deviation √(2/((1 + slope²) fan_in))        He et al. 2015, equation 10, for a leaky ReLU
//
// A uniform distribution on ±a has deviation a/√3. For a weight (out, in, ...) fan_in = in · rest
// and fan_out = out · rest, rest being the product of the axes after the second.
//
// Errors: DTypeError unless floating; ShapeError where fans are needed and the rank is below 2;
// ValueError for low > high or a negative deviation.
#pragma once

#include "tensor/tensor.hpp"

namespace glim {

struct Fans {
  Index in = 0, out = 0;
};
Fans fans_of(const Shape& shape);

void uniform_(const Tensor& x, double low, double high);
void normal_(const Tensor& x, double mean, double deviation);
void xavier_uniform_(const Tensor& x, double gain = 1);
void xavier_normal_(const Tensor& x, double gain = 1);
void kaiming_uniform_(const Tensor& x, double slope = 0);

}  // namespace glim
