// Hooks: functions that see gradients on their way, and may change them.
#include "autograd/observe/parts.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

// Hooks may add and remove hooks, so the present ones are listed by number and looked up.
template <class Find>
Var run(const Tape& tape, int node, const std::vector<int>& ids, Var gradient, const Find& find) {
  for (int id : ids) {
    const Hook* found = find(id);
    if (!found) continue;
    Hook h = *found;
    Var replaced = h(gradient);
    if (!replaced.defined()) continue;
    if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype()) {
      auto e = ShapeError("hook", "the replacement must have the gradient's shape and dtype",
                          {{"gradient", gradient.value()}, {"replacement", replaced.value()}});
      tape.place(e, node);
      throw e;
    }
    gradient = replaced;
  }
  return gradient;
}

}  // namespace

int Hooks::add(int node, std::string pattern, Hook h) {
  entries_.push_back({next_, node, std::move(pattern), std::move(h)});
  return next_++;
}

void Hooks::remove(int id) {
  std::erase_if(entries_, [id](const Entry& e) { return e.id == id; });
}

Var Hooks::change(int node, Var dy) {
  std::vector<int> ids;
  for (const Entry& e : entries_)
    if (e.node == node || (e.node < 0 && glob_match(e.pattern, tape_.path(node))))
      ids.push_back(e.id);
  return run(tape_, node, ids, std::move(dy), [&](int id) -> const Hook* {
    for (const Entry& e : entries_)
      if (e.id == id) return &e.call;
    return nullptr;
  });
}

void Hooks::nodes_removed(int size, bool) {
  std::erase_if(entries_, [size](const Entry& e) { return e.node >= size; });
}

Var run_leaf_hooks(const Tape& tape, int node, Leaf& leaf, Var gradient) {
  std::vector<int> ids;
  for (const auto& [id, h] : leaf.hooks) ids.push_back(id);
  return run(tape, node, ids, std::move(gradient), [&](int id) -> const Hook* {
    for (const auto& [own, h] : leaf.hooks)
      if (own == id) return &h;
    return nullptr;
  });
}

}  // namespace glim
