// Queries, keys and values of H heads, between the projections and W^O. How wide heads are, and heads of keys and values
// that queries share.
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

// Heads are columns of packed projections, where splitting and merging is a matter of strides and one op attends, or
// apart: from the start for options that change queries or keys (in_projection.cpp), later for a cache.
class Heads {
 public:
  // Columns of [Q K V] (B, T, 3D), or of Q (B, T, D) and [K V] (B, S, 2D).
  Heads(Index heads, Var x, Var memory)
      : count_(heads), packed_(std::move(x)), memory_(std::move(memory)) {}
  // (B, H, T, Dh), (B, G, S, Dh)
  Heads(Index heads, Var q, Var k, Var v)
      : query(std::move(q)), key(std::move(k)), value(std::move(v)), count_(heads) {}

  void unpack();         // defines query, key and value
  Shape scores() const;  // (B, H, T, S)
  DType dtype() const { return packed_.defined() ? packed_.dtype() : query.dtype(); }
  // The context (B, T, D) of all heads, merged, and the probabilities if they are wanted.
  AttentionResult attend(double dropout, RandomKey dropout_key, bool need_weights,
                         Where where = Where::current()) const;

  Var query, key, value;  // undefined while packed
  AttentionMask mask;

 private:
  Index count_;
  Var packed_, memory_;
};

}  // namespace glim
