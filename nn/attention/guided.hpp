// Guided attention (Tachibana et al. 2018, "Efficiently trainable text-to-speech system based on
// deep convolutional networks with guided attention", section 3.1): a penalty on attention away from
// the diagonal, for tasks whose output follows the input's order.
//
//   W_tn  = 1 - exp(-(n/N - t/T)² / 2g²)            N, T: the sentence's own lengths
//   loss  = Σ_b Σ_t Σ_n A_tn W_tn
//
//   attention A (B, T, S), or (B, H, T, S), averaged over heads
//
// A row of A sums to 1, so each target position adds its expected W, between 0 and 1, and the loss
// divided by the number of target positions is the paper's mean over t and n times N. Rows and
// columns of padding count 0.
//
// Errors: ShapeError unless there are B lengths and none exceeds its axis; ValueError for
// g <= 0.
#pragma once

#include <vector>

#include "autograd/ops.hpp"

namespace glim {

// W, zero outside the lengths: (B, T, S).
Tensor guided_attention_weights(const std::vector<Index>& target_lengths,
                                const std::vector<Index>& source_lengths, Index rows, Index columns,
                                double width, DType dtype = DType::Float32);

Var guided_attention_loss(const Var& attention, const std::vector<Index>& target_lengths,
                          const std::vector<Index>& source_lengths, double width = 0.2);

}  // namespace glim
