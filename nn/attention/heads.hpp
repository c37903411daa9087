// Heads as an axis: head h of a sequence is its columns h·Dh ... (h + 1)·Dh.
#pragma once

#include <string>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {

// The width of G heads where H heads have the width D; G = 0 is H. ValueError unless H divides D, and G divides H.
inline Index width_of_heads(Index d, Index h, Index g) {
  const auto text = [](Index n) { return std::to_string(n); };
  if (h < 1 || d < 1 || d % h != 0)
    throw ValueError("attention", text(h) + " heads do not divide d_model " + text(d));
  if (g < 0 || (g > 0 && h % g != 0))
    throw ValueError("attention",
                     text(h) + " heads cannot share " + text(g) + " of keys and values");
  return g == 0 ? d : d / h * g;
}

// (B, T, H·Dh) -> (B, T, H, Dh) -> (B, H, T, Dh)
inline Var heads_of(const Var& x, Index dh) {
  return permute(reshape(x, {x.size(0), x.size(1), x.size(2) / dh, dh}), {0, 2, 1, 3});
}

// (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, H·Dh)
inline Var joined(const Var& heads) {
  return reshape(permute(heads, {0, 2, 1, 3}),
                 {heads.size(0), heads.size(2), heads.size(1) * heads.size(3)});
}

// Each of G heads as many times in a row as makes H: (B, G, S, Dh) -> (B, H, S, Dh). The gradient of a head is the sum
// over its uses.
inline Var repeated(const Var& heads, Index h) {
  const Index b = heads.size(0), g = heads.size(1), s = heads.size(2), dh = heads.size(3);
  if (g == h) return heads;
  return reshape(broadcast_to(unsqueeze(heads, 2), {b, g, h / g, s, dh}), {b, h, s, dh});
}

}  // namespace glim
