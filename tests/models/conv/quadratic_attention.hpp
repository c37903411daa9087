// A convolution as multi-head self-attention (Cordonnier, Loukas & Jaggi 2020, "On the relationship
// between self-attention and convolutional layers", arXiv 1911.03584, theorem 1).
//
// Self-attention of the pixels of an image, with the quadratic relative encoding of the paper
// (equation 9): for query pixel q, key pixel k and δ = k - q,
//
//   scores_h[q, k] = v_h · r_δ      v_h = -α_h (1, -2Δ_h1, -2Δ_h2)      r_δ = (|δ|², δ_1, δ_2)
//                  = -α_h |δ - Δ_h|² + α_h |Δ_h|²                 W_qry = W_key = 0
//   y[q] = Σ_h (Σ_k softmax_k(scores_h[q, ·]) x[k] W_val,h) W_out,h + b_out
//
//   x: (B, D_in, H, W)   y: (B, D_out, H, W)   centers Δ: (heads, 2)   width_parameter α: (heads,)
//   value_proj.weight: (heads·D_h, D_in)   out_proj.weight: (D_out, heads·D_h)
//
// Head h looks at a bell of width α^-1/2 around q + Δ_h. As α grows the bell becomes the one pixel
// q + Δ_h, and the sum over heads a convolution: K² heads, their centers the K x K offsets of the
// kernel, W_val,h W_out,h the kernel's matrix at that offset. D_h = min(D_in, D_out) suffices, one
// of the two factors being the identity.
//
// How far it saturates: other pixels are at least 1 away from a center, so all of them
// together weigh less than 5 e^-α (four neighbours and a little); with α = 46 that is 5e-20, below
// the rounding of float64, and the weights are exactly 0 and 1 up to rounding.
//
// Borders: a convolution pads with zeros. Here keys and values come from the image with `margin`
// zero pixels around it and queries are the pixels of the image alone (the paper's remark on
// padding): a head whose center is outside attends to a pixel of zeros, whose value is 0 because
// value_proj has no bias. So the borders agree exactly, without a mask.
//
// Gradients flow to Δ and α: the paper also learns where the heads look.
#pragma once

#include <memory>

#include "nn/linear.hpp"
#include "nn/vision/conv.hpp"

namespace glim {

class QuadraticAttention : public Layer {
 public:
  QuadraticAttention(Index in, Index out, Index heads, Index head_width, Extent2 margin);

  Param centers, width_parameter;  // at first N(0, 1), and 1
  Child<Linear> value_proj, out_proj;

 private:
  Var forward(const Var& x) override;
  Index in_, heads_, head_width_;
  Extent2 margin_;
};

inline constexpr double kSaturation = 46;  // α: e^-46 is 1e-20

// The attention layer that computes what `conv` computes, of its dtype. ValueError unless conv has
// an odd kernel, stride 1, one group, and as much padding as keeps the size of the image.
std::unique_ptr<QuadraticAttention> attention_from(const Conv2d& conv, double alpha = kSaturation);

}  // namespace glim
