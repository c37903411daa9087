#include "autograd/replay.hpp"

#include "autograd/graph.hpp"
#include "tensor/error.hpp"

namespace glim {

RunAgain run_again(const Call& call) {
  return [op = call.type.copy(call.op), &type = call.type, where = call.where,
          count = call.inputs.size()](const std::vector<Var>& operands) {
    if (operands.size() != count)
      throw ValueError(type.formula.op, "has " + std::to_string(count) +
                                            " operands, and is run again on " +
                                            std::to_string(operands.size()));
    std::vector<const Var*> inputs;
    for (const Var& v : operands) inputs.push_back(&v);
    const std::shared_ptr<Op> fresh = type.copy(*op);
    return apply_at_place(Call{*fresh, type, inputs, where});
  };
}

}  // namespace glim
