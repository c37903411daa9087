// The boxes of the paper's figure 1, with the gradient that arrives at each.
//
// A box is a part of a layer (self_attn, norm1, feed_forward, ...) or a part outside the layers (src_embed,
// generator). Its node is its last one, its output; its gradient is ∂L/∂(output). The gradient of its
// parameters is their joint norm.
#pragma once

#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim {

struct Block {
  std::string module;  // "encoder.layers.0.self_attn"
  std::string part;    // "self_attn"
  std::string side;    // "encoder", "decoder"
  int layer = -1;      // -1 outside of layers
  int node = -1;
  double gradient_norm = 0, value_norm = 0, parameter_gradient_norm = 0;
};

// In the order of their first nodes.
std::vector<Block> blocks_of(const Pass& pass);

}  // namespace glim
