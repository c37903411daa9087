// Sliding windows over images with channels last, and the reverse.
//
//   unfold: y[b, p, q, i, j, c] = x[b, p·s_h + i·d_h - before_h, q·s_w + j·d_w - before_w, c]
//
//   x: (B, H, W, C)   y: (B, H', W', kh, kw, C)   H' = ⌊(H + before + after - d (kh - 1) - 1)/s⌋ + 1
//
// Positions outside x are `fill`. fold is the adjoint: every element of y is added to the position
// that unfold reads it from, <unfold(x), y> = <x, fold(y)>. The windows of an image, each as one
// row, are what turns a convolution into a matrix product ("im2col"; Chellapilla et al. 2006).
//
// A sequence (B, T, C) is an image of height 1. fold adds in the order of the windows for each
// element: the same bits for any number of threads.
//
// Errors: ShapeError for another rank, or where no window fits; ValueError for a kernel, stride or
// dilation below 1, or negative padding; DTypeError unless floating.
#pragma once

#include "tensor/tensor.hpp"

namespace glim {

// Windows along one axis.
struct Window {
  Index kernel = 1, stride = 1, dilation = 1;
  Index before = 0, after = 0;  // padding

  Index span() const { return dilation * (kernel - 1) + 1; }  // from the first to the last position
  Index count(Index extent) const { return (extent + before + after - span()) / stride + 1; }
  bool is_identity() const { return kernel == 1 && stride == 1 && before == 0 && after == 0; }
};

void require_sound(const Window& w, std::string_view op);  // ValueError(op)
// ValueError(op), or ShapeError(op) naming `axis` where no window fits into x's.
void require_windows(const Window& w, const Tensor& x, Index axis, std::string_view op);

Tensor unfold(const Tensor& x, const Window& rows, const Window& columns, double fill = 0);
// (B, height, width, C) from y (B, H', W', kh, kw, C).
Tensor fold(const Tensor& y, Index height, Index width, const Window& rows, const Window& columns);

}  // namespace glim
