// How much each input token contributes to the predicted tokens.
//
//   gradient × input        g(i; t) = Σ_d x_id ∂ ln p(y_t)/∂x_id            (T, S) and (T, T)
//   integrated gradients    G(i) = Σ_d x_id ∫₀¹ ∂F(αx)/∂x_id dα,  F = Σ_t ln p(y_t)     (S) and (T)
//                           Sundararajan, Taly & Yan 2017, equation 1, baseline 0 for both sides;
//                           they add up to F(x) - F(0) (its proposition 1)
//   rollout                 each layer mixes a position with what it attends to, half and half for
//                           the skip connection: the product of the mixtures (Abnar & Zuidema 2020)
//
// x are the embeddings before scale and position. The integral is computed by the midpoint rule with `steps`
// points; `gap` is the error of the sum. Positive numbers support the prediction.
#pragma once

#include <vector>

#include "tools/inspect/attention_view.hpp"
#include "tools/kinds/example.hpp"

namespace glim {

struct Attribution {
  double log_prob = 0;          // F(x) = Σ_t ln p(y_t)
  Tensor to_source, to_target;  // gradient × input, (T, S) and (T, T); float64
  std::vector<double> integrated_source, integrated_target;
  double baseline = 0;  // F(0)
  double gap = 0;       // Σ G - (F(x) - F(0))
  int steps = 0;        // 0: nothing was computed
};

// The attribution in the example's model as it is. A side that it lacks stays undefined and empty;
// both do when the tape has no log_probs (a model whose output is a mixture) or no embeddings.
Attribution attribute(Example& example, int steps = 32);

struct TokenRollout {
  Tensor encoder;         // (S, S): what each memory position is made of
  Tensor source, target;  // (T, S), (T, T): what each decoder position is made of; rows of both
                          // add up to 1
};
TokenRollout token_rollout(const std::vector<AttentionView>& views, Index s, Index t);

}  // namespace glim
