#include "tools/pass/pass.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/counted.hpp"

namespace glim {

// ---- forward ----

PassNode read_node(const Tape& tape, int number) {
  const Node& source = tape.nodes()[static_cast<std::size_t>(number)];
  PassNode n;
  n.number = number;
  n.op = source.name();
  n.path = n.name = tape.path(number);
  n.label = source.label;
  n.inputs.assign(source.inputs.begin(), source.inputs.end());
  if (source.leaf) {
    n.value = source.leaf->value;
    n.scope = n.path.substr(0, std::max(n.path.rfind('.') + 1, std::size_t{1}) - 1);
    return n;
  }
  const Replay& replay = tape.replay(number);
  if (!source.op)
    throw StateError("pass",
                     n.path +
                         " was used up by a backward: read the pass before, or set `retain` in "
                         "that backward");
  n.value = replay.value;
  n.run = replay.run;
  n.scope = *source.scope;
  n.formula = source.formula;
  n.where = source.where;
  n.arguments = source.op->arguments();
  for (const Var& v : replay.operands) n.operands.push_back(v.defined() ? v.value() : Tensor());
  for (const SavedValue& s : source.op->saved_values()) n.saved.push_back(s.input);
  return n;
}

Pass::Pass(const std::function<Var()>& record, Roles roles)
    : replay_tape_(std::make_unique<Tape>(TapeOptions{.replay = true})),
      tape_(replay_tape_.get()),
      roles_(std::move(roles)) {
  loss_ = tape_->node_of(record());
  read();
}

Pass::Pass(Tape& tape, const Var& y, Tensor dy, Roles roles)
    : tape_(&tape), roles_(std::move(roles)), loss_(tape.node_of(y)), dy_(std::move(dy)) {
  read();
}

void Pass::read() {
  if (loss_ < 0) throw StateError("pass", "the loss is no value of this tape");
  std::map<std::string, int> paths;
  for (int i = 0; i < static_cast<int>(tape_->nodes().size()); ++i) {
    nodes_.push_back(read_node(*tape_, i));
    ++paths[nodes_.back().path];
    const std::vector<int>& inputs = nodes_.back().inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k] >= 0) nodes_[static_cast<std::size_t>(inputs[k])].readers.push_back({i, k});
  }
  for (PassNode& n : nodes_)
    if (paths[n.path] > 1) n.name += "#" + std::to_string(n.number);
  rewind();
}

Tape& Pass::tape() const {
  if (!tape_) throw StateError("pass", "its tape has ended");
  return *tape_;
}

double Pass::loss_value() const {
  const Tensor& y = (*this)[loss_].value;
  return dy_.defined() ? dot(y, dy_) : sum(y.to(DType::Float64)).item();
}

int Pass::find(const std::string& path) const {
  for (const PassNode& n : nodes_)
    if (n.path == path) return n.number;
  return -1;
}

std::vector<int> Pass::consumers(int node) const {
  std::vector<int> list;
  for (const Reader& r : (*this)[node].readers)
    if (list.empty() || list.back() != r.node) list.push_back(r.node);
  return list;
}

void Pass::end() {
  walk_.reset();
  tape_ = nullptr;
  replay_tape_.reset();
}

// ---- backward ----

void Pass::rewind() {
  for (int i : order_) {
    PassNode& n = nodes_[static_cast<std::size_t>(i)];
    n.turn = -1;
    n.gradient = {};
    n.flows.clear();
  }
  order_.clear();
  done_.clear();
  frozen_.clear();
  const Var y = tape().value(loss_);
  walk_ = std::make_unique<BackwardWalk>(
      tape(), y, dy_.defined() ? dy_ : ones(y.shape(), y.dtype()), Backward{.retain = true}, false);
}

void Pass::restart() {
  patches_.clear();
  rewind();
}

void Pass::back(int count) {
  if (count < 0 || count > taken())
    throw StateError("back", "only " + counted(order_.size(), "node") + " were taken");
  rewind();
  arrive();
  while (taken() < count) step();
}

const PassNode& Pass::step() {
  const int i = current();
  if (i < 0) throw StateError("next", "the pass is over; `run` starts it again");
  WalkStep taken = walk_->step();
  PassNode& n = nodes_[static_cast<std::size_t>(i)];
  n.turn = this->taken();
  n.gradient = std::move(taken.dy);
  n.flows = std::move(taken.flows);
  order_.push_back(i);
  arrive();
  return n;
}

void Pass::change(int node, const Patch& patch) {
  if (GradientState s = state(node); s != GradientState::ToCome && s != GradientState::Now)
    throw StateError("set",
                     "the pass has gone past " + (*this)[node].path + "; `run` starts it again");
  patches_[node].push_back(patch);
  arrive();
}

void Pass::arrive() {
  while (current() >= 0) {
    int i = current();
    auto found = patches_.find(i);
    if (found == patches_.end()) return;
    std::size_t& done = done_[i];
    for (; done < found->second.size() && !frozen_.contains(i); ++done) {
      const Patch& p = found->second[done];
      walk_->set_gradient(i, patched(p, walk_->gradient(i)));
      if (!p.factor) frozen_.insert(i);
    }
    if (!frozen_.contains(i)) return;
  }
}

GradientState Pass::state(int i) const {
  if ((*this)[i].turn >= 0) return GradientState::Taken;
  if (frozen_.contains(i)) return GradientState::Frozen;
  if (i == current()) return GradientState::Now;
  return i < current() ? GradientState::ToCome : GradientState::PassedOver;
}

Tensor Pass::gradient(int i) const {
  const PassNode& n = (*this)[i];
  return n.turn >= 0 || !walk_ ? n.gradient : walk_->gradient(i);
}

Tensor Pass::flow(int reader, int input) const {
  Tensor total;
  for (const Flow& f : (*this)[reader].flows)
    if (f.node == input) total = total.defined() ? add(total, f.gradient) : f.gradient;
  return total;
}

double Pass::sent(int i, std::size_t input) const {
  for (const Flow& f : (*this)[i].flows)
    if (f.input == input) return norm(f.gradient);
  return -1;
}

std::vector<int> changed_nodes(const Pass& pass) {
  std::map<int, Tensor> sums;
  std::vector<int> changed;
  for (int i : pass.order()) {
    const PassNode& n = pass[i];
    // A kernel that adds to a sum in place rounds it otherwise.
    if (const auto sum = sums.find(i); sum != sums.end())
      if (!same_bits(n.gradient.contiguous(), sum->second.contiguous()) &&
          !(max(abs(sub(n.gradient, sum->second))).item() <= 1e-4 * max(abs(sum->second)).item()))
        changed.push_back(i);
    for (const Flow& f : n.flows) {
      Tensor& sum = sums[f.node];
      sum = sum.defined() ? add(sum, f.gradient) : f.gradient;
    }
  }
  return changed;
}

std::map<std::string, Tensor> tensors_of(const Pass& pass, bool leaves) {
  std::map<std::string, Tensor> all;
  for (const PassNode& n : pass.nodes()) {
    if (leaves || !n.is_leaf()) all[n.name] = n.value.contiguous();
    if (n.gradient.defined()) all[n.name + ".grad"] = n.gradient.contiguous();
  }
  return all;
}

}  // namespace glim
