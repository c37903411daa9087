// Forward: an op becomes a node of the tape.
#include "autograd/tape.hpp"
#include "tensor/error.hpp"

namespace glim {

Engine::Recorder::Recorder(Op& op, const Formula& formula, InputList inputs, const Where& where)
    : formula_(formula), inputs_(inputs), where_(where) {
  op.formula_ = &formula;
  op.inputs_ = nullptr;  // run again, it was recorded before
  op.needs_ = 0;
  Tape* tape = Tape::open();
  if (!tape || tape->paused_) {
    const std::uint64_t own = tape ? tape->id_ : 0;
    for (const Var* x : inputs)
      if (x->tape_ != 0 && x->tape_ != own) [[unlikely]] {
        refuse_gone();
        return;
      }
    return;
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i]->requires_grad()) continue;
    active_ = true;
    if (i < 64) op.needs_ |= std::uint64_t{1} << i;
  }
  if (active_) op.inputs_ = inputs_.data();
  op.input_count_ = static_cast<int>(inputs_.size());
  replays_ = active_ && tape->replays_;
  tape_ = tape->id_;
  tape->notify([&](Observer& o) { o.op_started(0); });
}

// Where nothing is recorded, a value of any open tape is a constant.
void Engine::Recorder::refuse_gone() const {
  for (const Var* x : inputs_) {
    const Tape* owner = Tape::open();
    while (owner && owner->id_ != x->tape_) owner = owner->outer_;
    if (!owner && x->tape_ != 0) x->refuse_tape();
  }
}

Var Engine::Recorder::constant(Tensor y) const {
  if (Tape* tape = Tape::current()) tape->notify([&](Observer& o) { o.computed(formula_, y); });
  return Var(std::move(y));
}

TapeArena& Engine::Recorder::arena() const {
  if (!Tape::current() || Tape::current()->id_ != tape_)
    throw StateError(formula_.op, "its forward ended or paused the tape, or left another open");
  return Tape::current()->arena_;
}

Var Engine::Recorder::record(OpInPlace op, Tensor y, RunAgain run) const {
  Tape& tape = *Tape::current();
  tape.notify([&](Observer& o) { o.computed(formula_, y); });
  std::span inputs(tape.arena_.room<int>(inputs_.size()), inputs_.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = tape.number_of(*inputs_[i]);
  tape.notify([&](Observer& o) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) o.read(inputs[i], *inputs_[i]);
  });
  op->inputs_ = nullptr;
  Op& own = *op;
  Var result(std::move(y));
  const int number = add_node(tape, std::move(op), formula_, inputs, where_, result);
  own.keep_saved(tape.arena_, inputs_, result);
  if (replays_) {
    Replay& kept = *(tape.nodes_[number].replay = std::make_unique<Replay>());
    for (const Var* x : inputs_) kept.operands.push_back(*x);
    kept.value = result.value();
    kept.run = std::move(run);
  }
  tape.notify([&](Observer& o) { o.recorded(number, result.value()); });
  return result;
}

int Engine::add_node(Tape& tape, OpInPlace op, const Formula& formula, std::span<const int> inputs,
                     const Where& where, Var& y) {
  Node& node = tape.add_node(y.value());
  node.op = std::move(op);
  node.formula = &formula;
  node.inputs = inputs;
  node.scope = tape.current_scope();
  node.where = where;
  const int number = static_cast<int>(tape.nodes_.size()) - 1;
  tape.bind(y, number);
  return number;
}

void Engine::annotate(Error& error, std::string_view op, InputList inputs, const Where& where) {
  const Tape* tape = Tape::current();
  for (std::size_t i = 0; i < inputs.size() && error.operand_count() == inputs.size(); ++i) {
    int node = tape ? tape->node_of(*inputs[i]) : -1;
    error.set_operand_path(i, node >= 0 ? tape->path(node) : inputs[i]->name());
  }
  const std::string& scope = Scope::path();
  error.set_place(scope.empty() ? "" : dotted(scope, op), to_string(where));
}

void Engine::refuse_changed(std::string_view op, const std::string& what, const SavedValue& saved) {
  const Var& v = saved.value;
  const Storage& memory = v.value().storage();
  const Where written = memory.written_since(saved.version);
  const std::string name = v.name().empty() ? what : what + " (" + v.name() + ")";
  throw StateError(
      op,
      "backward needs " + name + " as it was in forward, but it was changed since" +
          (written.line()                      ? " at " + to_string(written)
           : memory.version() == saved.version ? " through an array that shares its memory"
                                               : "") +
          ": call backward before the change, or let forward read a clone()",
      {{"value", v.value()}});
}

}  // namespace glim
