// Values and gradients of a tape's nodes that are kept for later.
//
//   Watch probs(tape, "*.probs");      // or a Var
//   ... tape.backward(loss);
//   for (const Watched& w : probs.values()) ...     // w.path, w.value, w.grad
#pragma once

#include "autograd/tape.hpp"

namespace glim {

// A value that is kept: grad is undefined until backward reached it.
struct Watched {
  int node;  // -1 once the tape has ended, and in a checkpointed region, which backward ran again
  std::string path;
  Tensor value, grad;
};

class Watch final : public Observer {
 public:
  explicit Watch(Tape& tape) { tape.observe(*this); }
  template <class T>
  Watch(Tape& tape, const T& what) : Watch(tape) {
    add(what);
  }

  // Every node recorded from now on whose path matches: * any run of characters, ? one.
  void add(std::string pattern) { patterns_.push_back(std::move(pattern)); }
  // One value. StateError when it is not on the tape.
  void add(const Var& v) { keep(required_node("watch", v), v.value()); }

  const std::vector<Watched>& values() const { return list_; }
  // The gradient of v; undefined if none came.
  Tensor grad_of(const Var& v) const {
    const int node = tape() ? tape()->node_of(v) : -1;
    for (const Watched& w : list_)
      if (w.node == node && node >= 0) return w.grad;
    return {};
  }

  void recorded(int node, const Tensor& value) override {
    for (const std::string& p : patterns_)
      if (glob_match(p, tape()->path(node))) return keep(node, value);
  }
  void named(int node, const Tensor& value) override {
    for (Watched& w : list_)
      if (w.node == node) w.path = tape()->path(node);
    recorded(node, value);
  }
  void arrived(int node, const Var& dy) override {
    for (Watched& w : list_)
      if (w.node == node) w.grad = dy.value();
  }
  void nodes_removed(int size, bool keep) override {
    if (!keep) std::erase_if(list_, [size](const Watched& w) { return w.node >= size; });
    for (Watched& w : list_)
      if (w.node >= size) w.node = -1;
  }

 private:
  void keep(int node, const Tensor& value) {  // once
    for (const Watched& w : list_)
      if (w.node == node) return;
    list_.push_back({node, tape()->path(node), value, {}});
  }
  std::vector<std::string> patterns_;
  std::vector<Watched> list_;
};

}  // namespace glim
