// Writes out the backward pass of a model with an op and a module that Glim does not know.
//
//   derive
//
// A tape with replay keeps what print_backward reads. `glim derive` does the same for Glim's models.
#include "tools/derive/derive.hpp"

#include <iostream>

#include "autograd/ops.hpp"
#include "nn/linear.hpp"
using namespace glim;

struct Cube final : Unary<Cube> {
  static constexpr Formula formula{"cube", "y = x³", {"dx = 3 x² ⊙ dy"}};
  Tensor forward(const Tensor& x) {
    save(X);
    return mul(x, mul(x, x));
  }
  Var dx(const Var& dy) const { return 3 * x() * x() * dy; }
};

// y = W_down ((W_gate x)³ * W_up x)
struct Gated : Layer {
  Gated(Index d, Index d_ff)
      : GLIM_NAMED(gate, d, d_ff), GLIM_NAMED(up, d, d_ff), GLIM_NAMED(down, d_ff, d) {}
  Child<Linear> gate, up, down;
  Var forward(const Var& x) override {
    const Var opened = named(apply(Cube{}, gate(x)), "opened");
    return down(opened * up(x));
  }
};

int main() {
  Gated layer(4, 6);
  const Var x = Var::leaf(normal({2, 4}, 0, 1, {1, 0}), "x");
  Tape tape({.replay = true});
  sum(layer(x));
  print_backward(tape, std::cout);
}
