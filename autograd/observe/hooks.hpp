// Tape::hook: functions that see gradients on their way, and may change them.
#pragma once

#include <algorithm>

#include "autograd/tape.hpp"
#include "tensor/error.hpp"

namespace glim {

class Hooks final : public Observer {
 public:
  explicit Hooks(Tape& tape) : tape_(tape) {}
  int add(int node, std::string pattern, Hook h) {  // node -1: by pattern
    if (!h) throw ValueError("hook", "the hook is null: pass a function of the gradient");
    entries_.push_back({next_, node, std::move(pattern), std::move(h)});
    return next_++;
  }
  void remove(int id) {
    std::erase_if(entries_, [id](const Entry& e) { return e.id == id; });
  }

  // Hooks may add and remove hooks, so the present ones are listed by number and looked up.
  Var change(int node, Var dy) override {
    std::vector<int> ids;
    for (const Entry& e : entries_)
      if (e.node == node || (e.node < 0 && glob_match(e.pattern, tape_.path(node))))
        ids.push_back(e.id);
    for (int id : ids) {
      const auto found = std::find_if(entries_.begin(), entries_.end(),
                                      [id](const Entry& e) { return e.id == id; });
      if (found == entries_.end()) continue;
      const Hook h = found->call;
      Var replaced = h(dy);
      if (!replaced.defined()) continue;
      if (replaced.shape() != dy.shape() || replaced.dtype() != dy.dtype()) {
        auto e = ShapeError("hook", "the replacement must have the gradient's shape and dtype",
                            {{"gradient", dy.value()}, {"replacement", replaced.value()}});
        tape_.place(e, node);
        throw e;
      }
      dy = replaced;
    }
    return dy;
  }
  void nodes_removed(int size, bool) override {
    std::erase_if(entries_, [size](const Entry& e) { return e.node >= size; });
  }

 private:
  struct Entry {
    int id, node;
    std::string pattern;
    Hook call;
  };
  const Tape& tape_;
  std::vector<Entry> entries_;
  int next_ = 0;
};

}  // namespace glim
