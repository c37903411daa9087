// Tape::watch: values and gradients that are kept for later.
#pragma once

#include "autograd/tape.hpp"

namespace glim {

class Watching final : public Observer {
 public:
  explicit Watching(Tape& tape) : tape_(tape) {}
  void add(std::string pattern) { patterns_.push_back(std::move(pattern)); }
  void add(int node, const Tensor& value) {  // once
    for (const Watched& w : list_)
      if (w.node == node) return;
    list_.push_back({node, tape_.path(node), value, {}});
  }
  const std::vector<Watched>& list() const { return list_; }

  void recorded(int node, const Tensor& value) override {
    for (const std::string& p : patterns_)
      if (glob_match(p, tape_.path(node))) return add(node, value);
  }
  void named(int node, const Tensor& value) override {
    for (Watched& w : list_)
      if (w.node == node) w.path = tape_.path(node);
    recorded(node, value);
  }
  void arrived(int node, const Var& dy) override {
    for (Watched& w : list_)
      if (w.node == node) w.grad = dy.value();
  }
  // Values seen in a checkpointed region that backward ran again stay, by path alone.
  void nodes_removed(int size, bool keep) override {
    if (!keep) std::erase_if(list_, [size](const Watched& w) { return w.node >= size; });
    for (Watched& w : list_)
      if (w.node >= size) w.node = -1;
  }

 private:
  const Tape& tape_;
  std::vector<std::string> patterns_;
  std::vector<Watched> list_;
};

}  // namespace glim
