// Heads as an axis: head h of a sequence is its columns h·Dh ... (h + 1)·Dh. Nothing is copied.
#pragma once

#include "autograd/ops.hpp"

namespace glim {

// (B, T, H·Dh) -> (B, T, H, Dh) -> (B, H, T, Dh)
inline Var split_heads(const Var& x, Index heads) {
  return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}
// (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, H·Dh)
inline Var join_heads(const Var& x) {
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace glim
