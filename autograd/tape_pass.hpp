// A backward pass of a tape: what observers, names and errors add around the steps of backward.hpp.
#pragma once

#include "autograd/tape.hpp"

namespace glim {

class TapePass final : public BackwardPass {
 public:
  TapePass(Tape& tape, PendingGradients& pending, const Backward& options, bool fill_leaves)
      : BackwardPass(tape, pending, options, fill_leaves),
        tape_(tape),
        running_(tape.running_, this) {}

  // Adds dy at y's node, which it returns. StateError when y was not computed on the tape from a leaf,
  // ShapeError unless dy has y's shape and dtype.
  static int begin(Tape& tape, PendingGradients& pending, const Var& y, const Var& dy);
  // 1 for a loss: ShapeError unless it has one element.
  static Tensor one_for(const char* op, const Var& loss);

  void step(int node) override;

 private:
  Grads gradients(int node, const Var& dy) override;
  void send(int sender, std::size_t k, Grads& d) override;

  Tape& tape_;
  Restored<const TapePass*> running_;
};

}  // namespace glim
