// Multi-head attention as the paper writes it (Vaswani et al. 2017, section 3.2), one head after another. MultiheadAttention
// computes all heads at once, and equals it (tests/nn/attention/multihead.cpp).
//
//   head_i = softmax(Q_i K_iᵀ/√Dh) V_i     Q_i = Q W_i^Q, K_i = K W_i^K, V_i = V W_i^V      equation 1
//   y = concat(head_1 ... head_H) W^O
//
//   query (B, T, D)   key, value (B, S, D)   y (B, T, D)   D = H Dh
//   (W_i^Q)ᵀ is rows i Dh to (i + 1) Dh of the stored (W^Q)ᵀ.
#pragma once

#include <cmath>

#include "nn/attention/multihead.hpp"

namespace glim {

// What `a` computes without options, dropout and cache. keep (B or 1, T or 1, S) is true where a query may attend to a key.
inline Var head_by_head(MultiheadAttention& a, const Var& query, const Var& key, const Var& value,
                        const Tensor& keep = {}) {
  using enum InProjection::Part;
  const InProjection& w = a.in_proj;
  const Index h = w.heads(), dh = a.d_model() / h;
  auto projected = [&](const Var& x, InProjection::Part part, Index i) {  // x W_i + b_i
    const Index first = w.begin(part) + i * dh, last = first + dh;
    const Var bias = w.bias.defined() ? slice(w.bias, 0, first, last) : Var();
    return linear(x, slice(w.weight, 0, first, last), bias);
  };

  std::vector<Var> heads;
  for (Index i = 0; i < h; ++i) {
    const Var q = projected(query, Query, i);                                         // (B, T, Dh)
    const Var k = projected(key, Key, i), v = projected(value, Value, i);             // (B, S, Dh)
    const Var scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(dh));  // (B, T, S)
    const Var probs = keep.defined() ? masked_softmax(scores, keep) : softmax(scores);  // (B, T, S)
    heads.push_back(matmul(probs, v));  // (B, T, Dh)
  }
  return a.out_proj(concatenate(heads, -1));
}

}  // namespace glim
