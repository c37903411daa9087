// How a user names a node of a pass, in `glim inspect` and in `glim step`:
//
//   decoder.layers.1.self_attn.scores     its path, or the end of one: scores, self_attn.scores
//   *self_attn.scores, *.probs            a pattern: * any run of characters, ? one
//   #12                                   its number
//
// and behind it a part of its tensor (patch.hpp).
#pragma once

#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim {

// The nodes of this name, those nearest to the loss first; at least one. ValueError with the nearest names
// for an unknown name.
std::vector<int> nodes_named(const Pass& pass, const std::string& name);
// Every path once, in alphabetical order.
std::vector<std::string> all_paths(const Pass& pass);

}  // namespace glim
