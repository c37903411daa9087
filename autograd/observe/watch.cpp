// Watching: values and gradients that are kept for later.
#include "autograd/observe/parts.hpp"

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

void Watching::add(int node, const Tensor& value) {
  for (const Watched& w : list_)
    if (w.node == node) return;
  list_.push_back({node, tape_.path(node), value, {}});
}

void Watching::recorded(int node, const Tensor& value) {
  for (const std::string& p : patterns_)
    if (glob_match(p, tape_.path(node))) return add(node, value);
}

void Watching::named(int node, const Tensor& value) {
  for (Watched& w : list_)
    if (w.node == node) w.path = tape_.path(node);
  recorded(node, value);
}

void Watching::arrived(int node, const Var& dy) {
  for (Watched& w : list_)
    if (w.node == node) w.grad = dy.value();
}

// Values seen in a checkpointed region that backward ran again stay, by path alone.
void Watching::nodes_removed(int size, bool keep) {
  if (!keep) std::erase_if(list_, [size](const Watched& w) { return w.node >= size; });
  for (Watched& w : list_)
    if (w.node >= size) w.node = -1;
}

}  // namespace glim
