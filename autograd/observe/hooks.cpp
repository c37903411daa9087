// Hooks: functions that see gradients on their way, and may change them.
#include <algorithm>

#include "autograd/observe/parts.hpp"
#include "tensor/error.hpp"

namespace glim {

int Hooks::add(int node, std::string pattern, Hook h) {
  if (!h) throw ValueError("hook", "the hook is null: pass a function of the gradient");
  entries_.push_back({next_, node, std::move(pattern), std::move(h)});
  return next_++;
}

void Hooks::remove(int id) {
  std::erase_if(entries_, [id](const Entry& e) { return e.id == id; });
}

// Hooks may add and remove hooks, so the present ones are listed by number and looked up.
Var Hooks::change(int node, Var dy) {
  std::vector<int> ids;
  for (const Entry& e : entries_)
    if (e.node == node || (e.node < 0 && glob_match(e.pattern, tape_.path(node))))
      ids.push_back(e.id);
  for (int id : ids) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [id](const Entry& e) { return e.id == id; });
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

void Hooks::nodes_removed(int size, bool) {
  std::erase_if(entries_, [size](const Entry& e) { return e.node >= size; });
}

}  // namespace glim
