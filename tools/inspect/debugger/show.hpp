// Nodes, tensors and equations as lines of text.
#pragma once

#include <string>

#include "tools/pass/pass.hpp"

namespace glim::step {

// "#41 decoder.layers.0.self_attn.probs  masked_softmax  (1, 2, 7, 7)  |gradient| 0.0123"
std::string node_line(const Pass& pass, int node);
// "   multihead.cpp:120  Var scores = ...": the line of the forward pass that made it, with its text where the sources
// of layers and models have it; empty for a leaf.
std::string forward_line(const Pass& pass, int node);
// The tensor, long ones summarised.
std::string tensor_text(const Tensor& x);

std::string stats_text(const Pass& pass, int node);

// The name of input k in the op's equations: "a", "W"; "input 3" where they have no name.
std::string input_name(std::string_view op, std::size_t k);
std::string formula_text(const Pass& pass, int node);
std::string saved_text(const Pass& pass, int node);
std::string where_text(const Pass& pass, int node);
// Inputs below it, readers above it, with what flowed along each edge.
std::string graph_text(const Pass& pass, int node);
// `around` nodes on each side in the order of the walk, and the rule of this one.
std::string list_text(const Pass& pass, int node, int around = 5);
// The lines of the op's rule, with the functions around them (rule.cpp); "" for a leaf.
std::string rule_text(const Pass& pass, int node);
// "" when the gradient is complete; else why there is none, or not all of it.
std::string gradient_note(const Pass& pass, int node);

}  // namespace glim::step
