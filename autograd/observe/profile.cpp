#include "autograd/observe/parts.hpp"
#include "tensor/clock.hpp"

namespace glim {

const Timing& Profiler::of(int node) const {
  static const Timing none;
  return static_cast<std::size_t>(node) < times_.size() ? times_[node] : none;
}

Timing& Profiler::at(int node) {
  if (static_cast<std::size_t>(node) >= times_.size()) times_.resize(node + 1);
  return times_[node];
}

void Profiler::op_started(double ago) { start_ = seconds_now() - ago; }

void Profiler::recorded(int node, const Tensor&) {
  if (tape_.nodes()[node].leaf) return;
  Timing& t = at(node);
  t.forward_start = start_;
  t.forward_seconds = seconds_now() - start_;
}

void Profiler::rule_begins(int node) { at(node).backward_start = seconds_now(); }

void Profiler::rule_ended(int node) {
  Timing& t = at(node);
  t.backward_seconds += seconds_now() - t.backward_start;
}

void Profiler::nodes_removed(int size, bool) {
  if (times_.size() > static_cast<std::size_t>(size)) times_.resize(size);
}

}  // namespace glim
