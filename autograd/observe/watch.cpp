// Watching and hooks: what looks at gradients on their way, and may change them.
#include "autograd/tape.hpp"

namespace glim {

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool Tape::matches(const std::string& pattern, int node) const {
  return glob_match(pattern, path(node));
}

void Tape::watch(std::string pattern) { patterns_.push_back(std::move(pattern)); }

void Tape::watch(const Var& v) {
  int node = number_of(v);
  if (node < 0)
    throw with_operands(StateError("watch", "the value is not on this tape"),
                        Operand("x", v.value()));
  for (const Watched& w : watched_)
    if (w.node == node) return;
  watched_.push_back({node, path(node), v.value(), {}});
}

void Tape::note_watched(int node, const Tensor& value) {
  for (const std::string& p : patterns_) {
    if (!matches(p, node)) continue;
    for (const Watched& w : watched_)
      if (w.node == node) return;
    watched_.push_back({node, path(node), value, {}});
    return;
  }
}

Tensor Tape::grad_of(const Var& v) const {
  int node = node_of(v);
  for (const Watched& w : watched_)
    if (w.node == node && node >= 0) return w.grad;
  return {};
}

int Tape::hook(const Var& v, Hook h) {
  require_hook(h);
  int node = number_of(v);
  if (node < 0)
    throw with_operands(StateError("hook", "the value is not on this tape"),
                        Operand("x", v.value()));
  hooks_.push_back({next_hook_, node, {}, std::move(h)});
  return next_hook_++;
}

int Tape::hook(std::string pattern, Hook h) {
  require_hook(h);
  hooks_.push_back({next_hook_, -1, std::move(pattern), std::move(h)});
  return next_hook_++;
}

void Tape::remove_hook(int id) {
  std::erase_if(hooks_, [id](const NodeHook& h) { return h.id == id; });
}

template <class List>
const Hook* Tape::find_hook(const List& list, int id) {
  for (const auto& h : list) {
    if constexpr (requires { h.call; }) {
      if (h.id == id) return &h.call;
    } else {
      if (h.first == id) return &h.second;
    }
  }
  return nullptr;
}

Var Tape::run_hooks(int node, Var gradient) {
  // Hooks may add and remove hooks, so those of now are taken by number, and looked up.
  auto call = [&](const Hook* found) {
    if (!found) return;
    Hook h = *found;
    Var replaced = h(gradient);
    if (!replaced.defined()) return;
    if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype()) {
      auto e = with_operands(
          ShapeError("hook", "the replacement must have the gradient's shape and dtype"),
          Operand("gradient", gradient.value()), Operand("replacement", replaced.value()));
      place(e, node);
      throw e;
    }
    gradient = replaced;
  };
  std::vector<int> ids;
  for (const NodeHook& h : hooks_)
    if (h.node == node || (h.node < 0 && matches(h.pattern, node))) ids.push_back(h.id);
  for (int id : ids) call(find_hook(hooks_, id));
  if (auto leaf = nodes_[node].leaf) {
    ids.clear();
    for (const auto& [id, h] : leaf->hooks) ids.push_back(id);
    for (int id : ids) call(find_hook(leaf->hooks, id));
  }
  return gradient;
}

Var named(Var v, std::string_view label) {
  Tape* tape = Tape::current();
  if (!tape) return v;
  int node = tape->node_of(v);
  if (node >= 0 && !v.is_leaf()) {
    tape->nodes_[node].label = label;
    for (Watched& w : tape->watched_)
      if (w.node == node) w.path = tape->path(node);
    tape->note_watched(node, v.value());
  }
  return v;
}

}  // namespace glim
