// The first number that is not finite, and the op that it came out of.
#include "autograd/observe/parts.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

void FiniteCheck::computed(const Formula& op, const Tensor& y) {
  if (!all_finite(y)) throw NonFiniteError(op.op, "its output is not finite", {{"y", y}});
}

void FiniteCheck::arrived(int node, const Var& dy) {
  if (all_finite(dy.value())) return;
  NonFiniteError e(tape_.nodes()[node].name, "the gradient that it was given is not finite",
                   {{"dy", dy}});
  tape_.place(e, node);
  throw e;
}

Tensor FiniteCheck::flow(const Flow& flow) {
  if (all_finite(flow.gradient)) return {};
  const Node& node = tape_.nodes()[flow.from];
  NonFiniteError e(node.name,
                   "its gradient of " + node.formula->input_name(flow.input) +
                       " is not finite, though that of its output is",
                   {{"gradient", flow.gradient}});
  e.set_operand_path(0, tape_.path(flow.node));
  tape_.place(e, flow.from);
  throw e;
}

}  // namespace glim
