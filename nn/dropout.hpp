// Dropout: y = x/(1 - p) with probability 1 - p, else 0; in eval y = x (Srivastava et al. 2014)
//
// The gradient is in autograd/ops/dropout.cpp. Each call in training draws one stream of
// generator(). ValueError for p outside [0, 1].
#pragma once

#include "nn/module.hpp"

namespace glim {

class Dropout : public Layer {
 public:
  explicit Dropout(double p = 0.5);
  Var add_to(const Var& x, const Var& h);  // x + dropout(h), in one pass
  double p() const { return p_; }

 private:
  Var forward(const Var& x) override;
  double p_;
};

}  // namespace glim
