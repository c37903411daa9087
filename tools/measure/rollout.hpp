// Attention rollout (Abnar & Zuidema 2020, arXiv 2005.00928, section 3): how much of each input
// token has reached each position after L layers, if only attention moved it.
//
//   Ā_l = mean of the heads' probabilities       Â_l = ½ Ā_l + ½ I, each row divided by its sum
//   rollout = Â_L ... Â_2 Â_1                    (T, T): row i says where position i comes from
//
// The ½ I is the residual connection. Rows whose probabilities sum to 1 need no division. A position
// that may attend to nothing (all 0) keeps only itself.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

// probs: for each layer, the first first, (H, T, T) or (T, T); one at least. ShapeError for a layer that is not square
// or has another length.
Tensor rollout(const std::vector<Tensor>& probs);

// The product after each layer: what rollout() gives for the first l + 1 of them.
std::vector<Tensor> rollout_by_layer(const std::vector<Tensor>& probs);

}  // namespace glim
