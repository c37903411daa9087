// Dropout: y = x/(1 - p) with probability 1 - p, else 0; in eval y = x (Srivastava et al. 2014)
//
//   dx = dy/(1 - p) where x was kept, else 0
//
// Each call in training draws one stream of generator(). ValueError for p outside [0, 1].
#pragma once

#include "nn/module.hpp"

namespace glim {

class Dropout final : public Layer {
 public:
  explicit Dropout(double p = 0.5);
  Var forward(const Var& x) override;
  Var add_to(const Var& x, const Var& h);  // x + forward(h), in one pass
  double p() const { return p_; }

 private:
  double p_;
};

}  // namespace glim
