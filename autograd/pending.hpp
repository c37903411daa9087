// Gradients by node that wait for the node's turn. Only a few wait at once, so they share a small pool of slots;
// taking one frees its slot.
#pragma once

#include <utility>
#include <vector>

#include "autograd/var.hpp"

namespace glim {

class PendingGradients {
 public:
  explicit PendingGradients(int first_node = 0) : first(first_node) {}
  void make_room(std::size_t nodes) {  // numbers below
    if (nodes > first + slot_.size()) slot_.resize(nodes - first, kNone);
  }
  const Var* find(int node) const {  // null if the node has none
    const int slot = slot_[node - first];
    return slot == kNone ? nullptr : &gradients_[slot];
  }
  Var& at(int node) {  // a new gradient, undefined, if the node has none
    int& slot = slot_[node - first];
    if (slot == kNone && free_.empty()) {
      slot = static_cast<int>(gradients_.size());
      gradients_.emplace_back();
    } else if (slot == kNone) {
      slot = free_.back();
      free_.pop_back();
    }
    return gradients_[slot];
  }
  Var take(int node) {  // undefined if the node has none
    const int slot = std::exchange(slot_[node - first], kNone);
    if (slot == kNone) return {};
    free_.push_back(slot);
    return std::move(gradients_[slot]);
  }

  const int first;  // nodes before it have no gradients

 private:
  static constexpr int kNone = -1;
  std::vector<int> slot_;  // by node
  std::vector<Var> gradients_;
  std::vector<int> free_;
};

}  // namespace glim
