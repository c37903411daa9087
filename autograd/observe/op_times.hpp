// The times of each op of a tape, forward and backward.
#pragma once

#include "autograd/tape.hpp"
#include "tensor/clock.hpp"

namespace glim {

// Starts are on the steady clock, in seconds.
struct Timing {
  double forward_start = 0, forward_seconds = 0;
  double backward_start = 0, backward_seconds = 0;
};

class OpTimes final : public Observer {
 public:
  explicit OpTimes(Tape& tape) { tape.observe(*this); }
  Timing of(int node) const {
    return static_cast<std::size_t>(node) < times_.size() ? times_[node] : Timing{};
  }

  void op_started(double ago) override { start_ = seconds_now() - ago; }
  void recorded(int node, const Tensor&) override {
    if (tape()->nodes()[node].leaf) return;
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
  std::vector<Timing> times_;  // by node
  double start_ = 0;
};

}  // namespace glim
