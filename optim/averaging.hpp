// The average of sets of parameters (Vaswani et al. 2017, section 6.1, average the last
// five checkpoints).
//
//   mean[name] = 1/n Σ state_i[name]      float64 sums in order; integers and flags: the last
//
// ValueError for nothing to average or names that differ; ShapeError and DTypeError name the tensor.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

StateDict average(const std::vector<StateDict>& states);

}  // namespace glim
