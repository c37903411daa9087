// Where the gradient divides: residual connections, and the memory that all decoder layers read.
//
// At y = x + f(x) the gradient of x is the sum of two flows, dx = skip + sub, the first being dy
// itself. Each one's share is its projection on the sum,
//
//   share(g) = <g, dx> / ‖dx‖²
//
// so the shares of a junction add up to 1; a share that works against the others is negative. The memory's
// gradient is split in the same way, by the decoder layers that attend to it.
#pragma once

#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim {

struct Branch {
  std::string name;
  double norm = 0, share = 0;
};

struct Junction {
  std::string module;            // "encoder.layers.0"; "model" outside of modules
  std::string sublayer;          // "self_attn", "multihead_attn", "feed_forward"
  int x = -1, sum = -1;          // nodes: where the branches divide, and where they meet
  double norm = 0;               // ‖dx‖
  std::vector<Branch> branches;  // skip, sublayer; "elsewhere" for other readers of x
};

// Every residual connection of a pass: an addition x + f, f computed from x.
std::vector<Junction> residual_junctions(const Pass& pass);

// The memory, its gradient by decoder layer; x is -1 when nothing of a decoder reads an encoder.
Junction memory_junction(const Pass& pass);

}  // namespace glim
