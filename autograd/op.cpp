#include "autograd/op.hpp"

#include <algorithm>

#include "autograd/tape.hpp"
#include "tensor/clock.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

std::vector<std::string_view>& names() {
  static std::vector<std::string_view> list;
  return list;
}

}  // namespace

bool register_op(std::string_view name) {
  names().push_back(name);
  return true;
}

std::vector<std::string_view> registered_ops() {
  std::vector<std::string_view> sorted = names();
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

bool Op::keeps_inputs() const {
  return std::none_of(saved_.begin(), saved_.end(),
                      [](const SavedValue& s) { return s.recomputed; });
}

bool Op::is_large(const Tensor& x, Index more_than_bytes) { return x.bytes() > more_than_bytes; }

void Op::save(std::size_t input) {
  if (!inputs_) return;
  if (saved_.empty()) saved_.reserve(input_count_ + (wants_output_ ? 1 : 0));
  keep(static_cast<int>(input), *inputs_[input]);
}

void Op::keep(int number, const Var& v) {
  SavedValue& kept = saved_.emplace_back(SavedValue{number, false, v});
  if (v.node_ < 0 || !is_large(v.value_)) return;
  kept.recomputed = Tape::current()->recomputes(v);
  if (kept.recomputed) kept.value.value_ = {};
}

const Var& Op::saved(int input) const {
  for (SavedValue& s : saved_) {
    if (s.input != input) continue;
    if (s.recomputed && !s.value.defined()) [[unlikely]]
      s.value.value_ = Tape::open()->recompute(s.value);
    return s.value;
  }
  throw StateError(
      name(), "backward reads input " + std::to_string(input) + ", which forward did not save");
}

bool Op::recording() { return Tape::current() != nullptr; }

Recorder::Recorder(Op& op, const Var* const* inputs, std::size_t count, const Where& where)
    : inputs_(inputs), count_(count), where_(where) {
  Tape* tape = Tape::open();
  if (!tape || tape->paused_) {
    const std::uint64_t own = tape ? tape->id_ : 0;
    for (std::size_t i = 0; i < count; ++i)
      if (inputs[i]->tape_ != 0 && inputs[i]->tape_ != own) [[unlikely]] {
        refuse_gone(op);
        return;
      }
    return;
  }
  try {
    find_needs(op);
  } catch (Error& e) {  // an input of another tape
    annotate(e, op);
    throw;
  }
  replays_ = active_ && tape->options_.replay;
  if (tape->options_.profile) start_ = seconds_now();
}

void Recorder::unrecorded(Op& op) {
  op.inputs_ = nullptr;
  op.input_count_ = 0;
  op.needs_ = 0;
}

void Recorder::check_count(const Op& op, std::size_t given, std::size_t wanted) {
  if (given != wanted)
    throw ValueError(op.name(), "has " + std::to_string(wanted) + " operands, and is replayed on " +
                                    std::to_string(given));
}

void Recorder::find_needs(Op& op) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!inputs_[i]->requires_grad()) continue;
    active_ = true;
    if (i < 64) op.needs_ |= std::uint64_t{1} << i;
  }
  if (active_) {
    op.inputs_ = inputs_;
    op.input_count_ = count_;
  }
}

// Where nothing is recorded, a value of any open tape is a constant.
void Recorder::refuse_gone(const Op& op) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Tape* owner = Tape::open();
    while (owner && owner->id_ != inputs_[i]->tape_) owner = owner->outer_;
    if (owner || inputs_[i]->tape_ == 0) continue;
    try {
      inputs_[i]->refuse_tape();
    } catch (Error& e) {
      annotate(e, op);
      throw;
    }
  }
}

void Recorder::check_finite(const Op& op, const Tensor& y) const {
  Tape* tape = Tape::current();
  if (!tape || !tape->options_.check_finite || all_finite(y)) return;
  NonFiniteError e(op.name(), "its output is not finite");
  e.add_operand("y", y.kind());
  throw e;
}

Var Recorder::constant(const Op& op, Tensor y) const {
  check_finite(op, y);
  return Var(std::move(y));
}

Var Recorder::record(std::unique_ptr<Op> op, Tensor y) const {
  check_finite(*op, y);
  Tape& tape = *Tape::current();
  Node node;
  node.inputs.reserve(count_);
  for (std::size_t i = 0; i < count_; ++i) node.inputs.push_back(tape.number_of(*inputs_[i]));
  op->inputs_ = nullptr;
  node.name = op->name();
  node.shape = y.shape();
  node.dtype = y.dtype();
  node.scope = tape.current_scope();
  node.where = where_;
  node.bytes = y.bytes();
  if (tape.options_.profile) {
    node.forward_start = start_;
    node.forward_seconds = seconds_now() - start_;
  }
  bool wants_output = op->wants_output_;
  node.op = std::move(op);
  int number = tape.add_node(std::move(node));
  Var result(std::move(y));
  tape.bind(result, number);
  if (wants_output) tape.nodes_.back().op->keep(Op::kOutput, result);
  if (!tape.patterns_.empty()) tape.note_watched(number, result.value());
  return result;
}

void Recorder::keep(const Var& y, Replay again) const {
  Tape& tape = *Tape::current();
  std::vector<Var> operands;
  for (std::size_t i = 0; i < count_; ++i) operands.push_back(*inputs_[i]);
  tape.keep(tape.node_of(y), {std::move(operands), y.value(), std::move(again)});
}

void Recorder::annotate(Error& error, const Op& op) const {
  Tape* tape = Tape::current();
  if (error.operand_count() == count_) {
    for (std::size_t i = 0; i < count_; ++i) {
      int node = tape ? tape->node_of(*inputs_[i]) : -1;
      error.set_operand_path(i, node >= 0 ? tape->path(node) : inputs_[i]->name());
    }
  }
  std::string scope = Scope::path();
  error.set_place(scope.empty() ? "" : scope + "." + std::string(op.name()), to_string(where_));
}

}  // namespace glim
