// Pooling: every window of a channel becomes one number, as torch.nn's.
//
//   max      y = max over the window, the first of equal elements
//   average  y = Σ window / n
//   n: the window's size, or, without count_include_pad, the positions of it that are in x
//
//   x: (B, C, H, W)   y: (B, C, H', W')   H' = ⌊(H + 2p - d (k - 1) - 1)/s⌋ + 1
//
// The stride is the kernel's size unless given. Padding counts as -∞ for max, as 0 for average; it is at most half of
// a window. The average over all of an image is mean(x, {2, 3}).
//
// Both are compositions: unfold, then gather of the largest or a mean. Their gradients are in
// autograd/ops/windows.cpp, index.cpp and reduce.cpp.
//
// Errors: ShapeError for another rank, or where no window fits; ValueError for a kernel or stride
// below 1 and for padding of more than half a window.
#pragma once

#include "nn/vision/conv.hpp"

namespace glim {

struct PoolOptions {
  Extent2 stride = 0;  // 0: the kernel's size
  Extent2 padding = 0, dilation = 1;
  bool count_include_pad = true;  // in an average
};

enum class Pool { Max, Average };

class Pool2d : public Layer {
 public:
  Pool2d(Pool kind, Extent2 kernel, const PoolOptions& options = {});

 private:
  Var forward(const Var& x) override;
  Pool kind_;
  Window rows_, columns_;
  bool count_padding_;
};

}  // namespace glim
