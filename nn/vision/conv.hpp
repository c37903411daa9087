// Convolution: one linear map of every window of a sequence or an image, as torch.nn's.
//
//   Conv1d: y[b, o, t]    = bias[o] + Σ_{c, j}    weight[o, c, j]    x[b, c, t·s + j·d - p]
//   Conv2d: y[b, o, h, w] = bias[o] + Σ_{c, i, j} weight[o, c, i, j] x[b, c, h·s + i·d - p, ...]
//
//   x: (B, C, T) or (B, C, H, W)   weight: (O, C/G, k) or (O, C/G, kh, kw)   bias: (O,)
//   y: (B, O, T') or (B, O, H', W')   T' = ⌊(T + 2p - d (k - 1) - 1)/s⌋ + 1; x is 0 outside
//
// With G groups the channels are cut into G parts, each with a convolution of its own: the sum over c
// runs over the C/G channels of o's group (Krizhevsky et al. 2012, section 3.5). With G = C a filter
// reads a single channel ("depthwise").
//
// It is unfold (every window as a row), then linear, or with groups a product for each; the gradients
// are in autograd/ops/windows.cpp, linear.cpp and matmul.cpp. In memory y has its channels last, which
// the next convolution reads fastest.
//
// Initial values are torch's: weight and bias uniform on ±1/√(C/G · k) (kaiming_uniform with
// slope √5).
//
// Errors: ValueError for sizes that make no convolution (a stride below 1, Same with a stride, groups
// that do not divide the channels); ShapeError
// for other ranks or channels, and where no window fits into x.
#pragma once

#include "nn/module.hpp"

namespace glim {

// An extent for each axis of an image; one number means both.
struct Extent2 {
  Extent2(Index both) : rows(both), columns(both) {}
  Extent2(Index r, Index c) : rows(r), columns(c) {}
  Index rows, columns;
};

// Zeros around a sequence: as many as given on each side; as many as keep the length (an odd one
// comes last, as in torch); or all of them in front, so that y[t] depends on nothing after x[t].
enum class ConvPadding { Given, Same, Causal };

struct Conv1dOptions {
  Index stride = 1, padding = 0, dilation = 1;
  bool bias = true;
  ConvPadding mode = ConvPadding::Given;
  Index groups = 1;
};
struct Conv2dOptions {
  Extent2 stride = 1, padding = 0, dilation = 1;
  bool bias = true;
  Index groups = 1;
};

class Conv1d : public Layer {
  Index in_;
  Window window_;

 public:
  Conv1d(Index in, Index out, Index kernel, const Conv1dOptions& options = {});
  // The output of one window, without padding: x (B, C, d (k - 1) + 1) -> (B, O, 1). For decoding
  // step by step, with the last inputs kept.
  Var forward_window(const Var& x);

  Param weight, bias;

 private:
  Var forward(const Var& x) override;
  Var slide(const Var& x, const Window& window);
};

class Conv2d : public Layer {
  Index in_;
  Window rows_, columns_;

 public:
  Conv2d(Index in, Index out, Extent2 kernel, const Conv2dOptions& options = {});
  const Window& rows() const { return rows_; }
  const Window& columns() const { return columns_; }
  Index groups() const { return in_ / weight.size(1); }

  Param weight, bias;

 private:
  Var forward(const Var& x) override;
};

}  // namespace glim
