// Two forms in which the same model is recorded.
//
//   Fused      attention, layer norm, losses ... run as hand-written kernels: one node each
//   Explicit   the same functions are recorded as their primitives: every intermediate a node
//
// A test holds values and gradients of both equal for every fused op. Training runs fused,
// inspection explicit. The choice belongs to the thread and lasts to the end of the block.
#pragma once

#include "autograd/restored.hpp"

namespace glim {

enum class OpForm { Fused, Explicit };

class UseForm {
 public:
  explicit UseForm(OpForm m) : form_(now_, m) {}

 private:
  friend OpForm op_form();
  static inline thread_local OpForm now_ = OpForm::Fused;
  Restored<OpForm> form_;
};

inline OpForm op_form() { return UseForm::now_; }

}  // namespace glim
