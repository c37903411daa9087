// W^Q, W^K and W^V of multi-head attention, transposed and stored in one matrix, so that projections of one sequence are
// one product.
//
//   in_proj_weight (3D, D): (W^Q)ᵀ above (W^K)ᵀ above (W^V)ᵀ   in_proj_bias (3D,)
//   with share_qk (2D, D), (W^Q)ᵀ = (W^K)ᵀ above (W^V)ᵀ: the gradient is the sum of both uses
//   with G kv_heads, each of which H/G heads share (Ainslie et al. 2023), (D + 2 G Dh, D)
//
// At first: the whole stored matrix by Xavier, as in torch, and biases 0.
//
// Errors: ShapeError unless query is (B, T, D), key and value (B, S, D).
#pragma once

#include "nn/attention/head_options.hpp"

namespace glim {

class InProjection {
 public:
  enum Part { Query, Key, Value };

  // Parameters are of the owner. If `stored` is false, there is no weight.
  InProjection(Module& owner, Index d_model, Index heads, const AttentionOptions& options,
               bool stored);

  // The heads of all three. One product for a query alone; two for a query and a key that is also the value, if heads are
  // columns of them; else three.
  Heads operator()(const Operand& query, const Var& key, const Var& value) const;
  // Heads of one of them: (B, T, D) -> (B, H or G, T, Dh).
  Var heads(const Var& x, Part part) const { return split(project(x, part, part)); }
  // (B, T, H·Dh or G·Dh) -> (B, H or G, T, Dh)
  Var split(const Var& x) const { return split_heads(x, x.size(-1) * h_ / d_); }
  Index heads() const { return h_; }
  // A part's rows in weight and bias, and its columns in their product.
  Index begin(Part p) const {
    const Index key = share_qk_ ? 0 : d_;
    return p == Query ? 0 : p == Key ? key : key + d_kv_;
  }
  Index end(Part p) const { return begin(p) + (p == Query ? d_ : d_kv_); }

 private:
  Index d_, h_, d_kv_;     // width of queries, their heads, width of keys and of values
  bool share_qk_, packs_;  // packs: heads are columns of the projections as they come

 public:
  Param weight, bias;

 private:
  // x W_partsᵀ + b_parts for the parts from `first` to `last`, by one product: (B, T, end(last) - begin(first)).
  Var project(const Var& x, Part first, Part last) const;
};

}  // namespace glim
