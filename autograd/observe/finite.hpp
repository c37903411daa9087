// NonFiniteError at the first output or gradient of a tape that is not finite; it names the op that it came out of.
#pragma once

#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

class FiniteCheck final : public Observer {
 public:
  explicit FiniteCheck(Tape& tape) { tape.observe(*this); }

  void computed(const Formula& op, const Tensor& y) override {
    if (!all_finite(y)) throw NonFiniteError(op.op, "its output is not finite", {{"y", y}});
  }
  void arrived(int node, const Var& dy) override {
    if (all_finite(dy.value())) return;
    NonFiniteError e(tape()->nodes()[node].name(), "the gradient that it was given is not finite",
                     {{"dy", dy}});
    place(e, *tape(), node);
    throw e;
  }
  void flow(const Flow& flow) override {
    if (all_finite(flow.gradient)) return;
    const Node& node = tape()->nodes()[flow.sender];
    NonFiniteError e(node.name(),
                     "its gradient of " + node.formula->input_name(flow.input) +
                         " is not finite, though that of its output is",
                     {{"gradient", flow.gradient}});
    e.set_operand_path(0, tape()->path(flow.node));
    place(e, *tape(), flow.sender);
    throw e;
  }
};

}  // namespace glim
