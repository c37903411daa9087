// Where a node's gradient came from, as an exact sum.
//
// A way to the node x begins at a value, query or key of one head, at a feed-forward's activation, or at the loss, and
// goes down to x without meeting another of them: by skips, norms and projections alone. Backward is linear in the
// gradient that arrives, so that
//
//   ∂L/∂x = Σ over ways of (the part of ∂L/∂x that the beginning's own gradient alone gives)
//
// Each part is a backward from that beginning, its gradient as in the pass (masked to one head), in which the other
// beginnings pass nothing on. Changes set on nodes between hold there too.
//
// Errors: StateError for a node that the pass has not reached, or that has no gradient.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim::step {

struct Path {
  std::string module;  // "decoder.layers.1.self_attn"; empty: from the loss
  std::string kind;    // "value", "query", "key", "feed-forward", "skip"
  std::optional<Index> head;
  Tensor part;
  double share = 0;  // <part, ∂L/∂x> / ‖∂L/∂x‖²: shares add up to 1
};

struct Paths {
  std::vector<Path> all;
  double norm = 0;  // ‖∂L/∂x‖
  double gap = 0;   // ‖Σ parts − ∂L/∂x‖ / ‖∂L/∂x‖
};

Paths ways_to(Pass& pass, int node);

std::string why_text(const Pass& pass, int node, const Paths& ways);
// The shares as a map: a row a module, the last layer first; a column for skip, feed-forward, and value, query and key
// of each head.
std::string why_svg(const Pass& pass, int node, const Paths& ways);

}  // namespace glim::step
