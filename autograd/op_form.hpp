// Two forms in which the same model is recorded.
//
//   Fused      attention, layer norm, losses ... run as hand-written kernels: one node each
//   Explicit   the same functions are recorded as their primitives: every intermediate a node
//
// A test holds values and gradients of both equal for every fused op. Training runs fused,
// inspection explicit. The choice belongs to the thread and lasts to the end of the block.
#pragma once

#include <utility>

namespace glim {

enum class OpForm { Fused, Explicit };

class UseForm {
 public:
  explicit UseForm(OpForm m) : before_(std::exchange(now_, m)) {}
  ~UseForm() { now_ = before_; }
  UseForm(const UseForm&) = delete;
  UseForm& operator=(const UseForm&) = delete;

 private:
  friend OpForm op_form();
  static inline thread_local OpForm now_ = OpForm::Fused;
  OpForm before_;
};

inline OpForm op_form() { return UseForm::now_; }

}  // namespace glim
