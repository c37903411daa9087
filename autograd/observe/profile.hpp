// TapeOptions::profile: the times of each op.
#pragma once

#include "autograd/tape.hpp"
#include "tensor/clock.hpp"

namespace glim {

class Profiler final : public Observer {
 public:
  explicit Profiler(Tape& tape) : tape_(tape) {}
  Timing of(int node) const {
    return static_cast<std::size_t>(node) < times_.size() ? times_[node] : Timing{};
  }

  void op_started(double ago) override { start_ = seconds_now() - ago; }
  void recorded(int node, const Tensor&) override {
    if (tape_.nodes()[node].leaf) return;
    Timing& t = at(node);
    t.forward_start = start_;
    t.forward_seconds = seconds_now() - start_;
  }
  void rule_begins(int node) override { at(node).backward_start = seconds_now(); }
  void rule_ended(int node) override {
    Timing& t = at(node);
    t.backward_seconds += seconds_now() - t.backward_start;
  }
  void nodes_removed(int size, bool) override {
    if (times_.size() > static_cast<std::size_t>(size)) times_.resize(size);
  }

 private:
  Timing& at(int node) {
    if (static_cast<std::size_t>(node) >= times_.size()) times_.resize(node + 1);
    return times_[node];
  }
  const Tape& tape_;
  std::vector<Timing> times_;  // by node
  double start_ = 0;
};

}  // namespace glim
