// Errors of an op name its operands, its path and its line.
#include "autograd/tape.hpp"
#include "tensor/error.hpp"

namespace glim {

Var apply(const Call& call) {
  try {
    if (!Graph::current())
      for (const Var* x : call.inputs) x->require_open_tape();
    return Graph::run(call);
  } catch (Error& e) {
    annotate(e, call.type.formula.op, call.inputs, call.where);
    throw;
  }
}

void annotate(Error& error, std::string_view op, InputList inputs, const Where& where) {
  const Tape* tape = Tape::current();
  for (std::size_t i = 0; i < inputs.size() && error.operand_count() == inputs.size(); ++i) {
    int node = tape ? tape->node_of(*inputs[i]) : -1;
    error.set_operand_path(i, node >= 0 ? tape->path(node) : inputs[i]->name());
  }
  const std::string& scope = Scope::path();
  error.set_place(scope.empty() ? "" : dotted(scope, op), to_string(where));
}

void place(Error& error, const Tape& tape, int i) {
  const std::string path = tape.path(i);
  const Node& node = tape.nodes()[i];
  error.set_place(path, node.leaf ? "" : to_string(node.where));
}

bool Var::requires_grad() const {
  if (leaf_) return leaf_->trainable;
  if (!tape_) return false;
  // While paused the owner is still the open tape.
  const Tape* tape = Tape::open();
  if (tape && tape->holds(*this)) return true;
  if (tape && tape_ == tape->id_)
    throw StateError(
        "recomputed",
        "a value computed inside a checkpointed region is used outside: return it from "
        "the region, or detach() it",
        {{"x", value_}});
  refuse_tape();
}

// Where nothing is recorded, a value of any open tape is a constant.
void Var::find_tape() const {
  const Tape* owner = Tape::open();
  while (owner && owner->id_ != tape_) owner = owner->outer_;
  if (!owner) refuse_tape();
}

void Var::refuse_tape() const {
  throw StateError("tape",
                   "a value computed on another tape is used: detach() it, or keep that tape",
                   {{"x", value_}});
}

}  // namespace glim
