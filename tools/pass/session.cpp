#include "tools/pass/session.hpp"

#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/counted.hpp"

namespace glim::step {

Session::Session(const std::function<Var()>& record)
    : tape_({.replay = true}), loss_value_(record()), loss_(tape_.node_of(loss_value_)) {
  readers_.resize(tape_.nodes().size());
  for (int i = 0; i < size(); ++i)
    for (std::size_t k = 0; k < node(i).inputs.size(); ++k)
      if (int input = node(i).inputs[k]; input >= 0)
        readers_[static_cast<std::size_t>(input)].push_back({i, k});
  restart();
}

void Session::restart() {
  patches_.clear();
  rewind();
}

void Session::back_to(int count) {
  if (count < 0 || count > taken())
    throw StateError("back", fmt::format("only {} were taken", counted(order_.size(), "node")));
  rewind();
  arrive();
  while (taken() < count) advance();
}

void Session::rewind() {
  for (const Node& n : tape_.nodes())
    if (n.leaf) n.leaf->grad = {};
  order_.clear();
  taken_.clear();
  sent_.clear();
  done_.clear();
  frozen_.clear();
  walk_.emplace(tape_, loss_value_, Backward{.retain = true});
}

const WalkStep& Session::advance() {
  if (current() < 0) throw StateError("next", "the pass is over; `run` starts it again");
  last_ = walk_->step();
  order_.push_back(last_.node);
  taken_[last_.node] = last_.dy;
  std::vector<double>& sent = sent_[last_.node];
  sent.assign(node(last_.node).inputs.size(), -1);
  for (const Flow& f : last_.flows) sent[f.input] = norm(f.gradient);
  arrive();
  return last_;
}

void Session::set(int i, const Patch& patch) {
  if (GradientState t = turn(i); t != GradientState::ToCome && t != GradientState::Now)
    throw StateError("set", "the pass has gone past " + tape_.path(i) + "; `run` starts it again");
  patches_[i].push_back(patch);
  arrive();
}

void Session::arrive() {
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

GradientState Session::turn(int i) const {
  if (taken_.contains(i)) return GradientState::Taken;
  if (frozen_.contains(i)) return GradientState::Frozen;
  if (i == current()) return GradientState::Now;
  return i < current() ? GradientState::ToCome : GradientState::PassedOver;
}

Tensor Session::gradient(int i) const {
  auto found = taken_.find(i);
  return found != taken_.end() ? found->second : walk_->gradient(i);
}

double Session::sent(int i, std::size_t input) const {
  auto found = sent_.find(i);
  return found == sent_.end() ? -1 : found->second[input];
}

}  // namespace glim::step
