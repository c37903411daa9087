// How a user names a node of the tape:
//
//   decoder.layers.1.self_attn.scores     its path, or the end of one: scores, self_attn.scores
//   *self_attn.scores, *.probs            a pattern: * any run of characters, ? one
//   #12                                   its number
//   .                                     the current node
//
// For printing, a part may follow: [0,1] rows and columns by number (from the end if negative),
// [0,1:3] a range, [:,0] all of an axis.
#pragma once

#include <string>
#include <vector>

#include "tools/inspect/debugger/session.hpp"

namespace glim::step {

// The nodes of this name, those nearest to the loss first; at least one. ValueError with the nearest names
// for an unknown name.
std::vector<int> nodes_named(const Session& session, const std::string& name, int selected);
// Every path once, in alphabetical order.
std::vector<std::string> all_paths(const Session& session);

struct Named {
  std::string name, part;  // "scores", "0,1:3"
};
// ValueError unless brackets close.
Named split_part(const std::string& text);
// ValueError for what is no number or range, IndexError outside the extents.
Tensor part_of(const Tensor& x, const std::string& part);

}  // namespace glim::step
