// How wide heads are, and heads of keys and values that queries share.
#pragma once

#include <string>

#include "autograd/heads.hpp"
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

// Each of G heads as many times in a row as makes H: (B, G, S, Dh) -> (B, H, S, Dh). The gradient of a head is the sum
// over its uses.
inline Var repeated(const Var& heads, Index h) {
  const Index b = heads.size(0), g = heads.size(1), s = heads.size(2), dh = heads.size(3);
  if (g == h) return heads;
  return reshape(broadcast_to(unsqueeze(heads, 2), {b, g, h / g, s, dh}), {b, h, s, dh});
}

}  // namespace glim
