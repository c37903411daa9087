// A small Transformer, and two sentences for it.
#pragma once

#include <cmath>

#include "models/transformer/transformer.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/models/common.hpp"

namespace glim::small_transformer {

inline TransformerConfig small_config() {
  auto c = sized<TransformerConfig>(12, 16, 2, 24, 2);
  c.src_vocab = 11;
  return c;
}

inline const Tensor kSource = ids({3, 4, 5, 6, 7, 8, 9, 0, 0, 0}, {2, 5});
inline const Tensor kTarget = ids({1, 3, 4, 5, 1, 6, 0, 0}, {2, 4});

// With one token replaced.
inline Tensor changed(const Tensor& tokens, Index at, Index token) {
  Tensor other = tokens.clone();
  other.data<Index>()[at] = token;
  return other;
}

inline double norm_of(const Tensor& x) { return std::sqrt(dot(x, x)); }

}  // namespace glim::small_transformer
