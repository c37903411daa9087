// The average of the last k sets of parameters (Vaswani et al. 2017, section 6.1, average the last
// five checkpoints).
//
//   mean[name] = 1/n Σ state_i[name]      float64 sums in order; integers and flags: the last
//
// ValueError for k < 1, nothing to average, or names that differ; ShapeError and DTypeError name
// the tensor.
#pragma once

#include <deque>

#include "optim/optimizer.hpp"

namespace glim {

StateDict average(const std::vector<StateDict>& states);

class LastAverage {
 public:
  explicit LastAverage(std::size_t k);
  void add(const StateDict& state);  // copies the values; the oldest of k + 1 is dropped
  std::size_t size() const { return states_.size(); }
  StateDict average() const;

 private:
  std::size_t k_;
  std::deque<StateDict> states_;
};

}  // namespace glim
