// Observers of forward, and replay: what a tape adds around the steps of graph.cpp.
#include "autograd/tape.hpp"
#include "tensor/error.hpp"

namespace glim {

// The op is copied before forward, which may change it.
Var Tape::forward_and_record(const Call& call) {
  if (!replays_) return Graph::forward_and_record(call);
  Replay replay{.operands = {}, .value = {}, .run = run_again(call)};
  Var y = Graph::forward_and_record(call);
  if (const int node = node_of(y); node >= 0) {
    for (const Var* x : call.inputs) replay.operands.push_back(*x);
    replay.value = y.value();
    keep_replay(node, std::move(replay));
  }
  return y;
}

Tensor Tape::forward(const Call& call) {
  const std::uint64_t id = id_;  // forward may end this tape
  notify([](Observer& o) { o.op_started(0); });
  Tensor y = Graph::forward(call);
  if (!current() || current()->id_ != id)
    throw StateError(call.type.formula.op,
                     "its forward ended or paused the tape, or left another open");
  notify([&](Observer& o) { o.computed(call.type.formula, y); });
  return y;
}

Var Tape::record(const Call& call, Tensor y) {
  if (!observers_.empty()) {
    std::vector<int> inputs;
    for (const Var* x : call.inputs) inputs.push_back(node_for(*x));
    notify([&](Observer& o) {
      for (std::size_t k = 0; k < inputs.size(); ++k) o.read(inputs[k], *call.inputs[k]);
    });
  }
  Var result = Graph::record(call, std::move(y));
  nodes_.back().scope = current_scope();
  notify([&](Observer& o) { o.recorded(last_node(), result.value()); });
  return result;
}

int Tape::node_for(const Var& v) {
  const std::size_t size = nodes_.size();
  const int number = Graph::node_for(v);
  if (nodes_.size() > size) notify([&](Observer& o) { o.recorded(number, v.value()); });
  return number;
}

Var module_output(std::string_view part, const Var& in, Var out) {
  if (Tape* tape = Tape::current())
    tape->notify([&](Observer& o) {
      out = o.on_module_output(dotted(Scope::path(), part), in, std::move(out));
    });
  return out;
}

Var named(Var v, std::string_view label) {
  Tape* tape = Tape::current();
  if (!tape || v.is_leaf()) return v;
  tape->notify([&](Observer& o) { v = o.on_value(dotted(Scope::path(), label), std::move(v)); });
  const int i = tape->node_of(v);
  if (i < 0) return v;
  tape->nodes_[i].label = *tape->names_.emplace(label).first;
  tape->notify([&](Observer& o) { o.named(i, v.value()); });
  return v;
}

void Tape::observe(Observer& observer) {
  if (observer.tape_) throw StateError("observe", "the observer observes a tape already");
  observers_.add(observer);
  observer.tape_ = this;
}

void Observer::stop() {
  if (!tape_) return;
  tape_->observers_.remove(*this);
  tape_ = nullptr;
}

void ObserverList::remove(Observer& observer) {
  std::replace(all_.begin(), all_.end(), &observer, static_cast<Observer*>(nullptr));
  if (events_ == 0) std::erase(all_, nullptr);
}

int Observer::required_node(const char* op, const Var& v) const {
  const int node = tape_ ? tape_->node_for(v) : -1;
  if (node < 0) throw StateError(op, "the value is not on this tape", {{"x", v.value()}});
  return node;
}

void Tape::keep_replay(int node, Replay replay) {
  replay_.resize(nodes_.size());
  replay_[node] = std::make_unique<Replay>(std::move(replay));
}

const Replay& Tape::replay(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size())
    throw StateError("replay", "there is no node " + std::to_string(i) + " on the tape");
  if (nodes_[i].leaf) throw StateError("replay", path(i) + " is a leaf: nothing computed it");
  if (static_cast<std::size_t>(i) < replay_.size() && replay_[i]) return *replay_[i];
  throw StateError("replay", path(i) + " was recorded without replay: set `replay` on its tape");
}

}  // namespace glim
