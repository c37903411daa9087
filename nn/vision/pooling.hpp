// Pooling: every window of a channel becomes one number, as torch.nn's.
//
//   max      y = max over the window, the first of equal elements
//   average  y = Σ window / n
//   n: the window's size, or, without count_include_pad, the positions of it that are in x
//
//   x: (B, C, T) or (B, C, H, W)   y: (B, C, T') or (B, C, H', W')
//   T' = ⌊(T + 2p - d (k - 1) - 1)/s⌋ + 1; the stride is the kernel's size unless given
//
// Padding counts as -∞ for max, as 0 for average; it is at most half of a window. The adaptive
// average gives one number for each channel: (B, C, 1) or (B, C, 1, 1).
//
// All are compositions: unfold, then gather of the largest or a mean. Their gradients are in
// autograd/ops/windows.cpp, index.cpp and reduce.cpp.
//
// Errors: ShapeError for another rank, or where no window fits; ValueError for a kernel or stride
// below 1 and for padding of more than half a window.
#pragma once

#include "nn/vision/conv.hpp"

namespace glim {

struct MaxPoolOptions {
  Extent2 stride = 0;  // 0: the kernel's size
  Extent2 padding = 0, dilation = 1;
};
struct AvgPoolOptions {
  Extent2 stride = 0, padding = 0;
  bool count_include_pad = true;
};

// Windows of an image, or of a sequence as an image of one row: an Extent2 then gives its columns.
class WindowPool : public Layer {
 protected:
  WindowPool(int axes, Extent2 kernel, Extent2 stride, Extent2 padding, Extent2 dilation);
  Window rows_, columns_;

 private:
  Var forward(const Var& x) override;
  virtual Var pool(const Var& image) const = 0;
  int axes_;
};
class MaxPool : public WindowPool {
 protected:
  MaxPool(int axes, Extent2 kernel, const MaxPoolOptions& o)
      : WindowPool(axes, kernel, o.stride, o.padding, o.dilation) {}

 private:
  Var pool(const Var& image) const override;
};
class AvgPool : public WindowPool {
 protected:
  AvgPool(int axes, Extent2 kernel, const AvgPoolOptions& o)
      : WindowPool(axes, kernel, o.stride, o.padding, 1), count_padding_(o.count_include_pad) {}

 private:
  Var pool(const Var& image) const override;
  bool count_padding_;
};

struct MaxPool2d : MaxPool {
  explicit MaxPool2d(Extent2 kernel, const MaxPoolOptions& o = {}) : MaxPool(2, kernel, o) {}
};
struct AvgPool2d : AvgPool {
  explicit AvgPool2d(Extent2 kernel, const AvgPoolOptions& o = {}) : AvgPool(2, kernel, o) {}
};
struct MaxPool1d : MaxPool {
  explicit MaxPool1d(Index kernel, const MaxPoolOptions& o = {}) : MaxPool(1, kernel, o) {}
};
struct AvgPool1d : AvgPool {
  explicit AvgPool1d(Index kernel, const AvgPoolOptions& o = {}) : AvgPool(1, kernel, o) {}
};

class AdaptiveAvgPool1d : public Layer {  // (B, C, T) -> (B, C, 1)
  Var forward(const Var& x) override;
};
class AdaptiveAvgPool2d : public Layer {  // (B, C, H, W) -> (B, C, 1, 1)
  Var forward(const Var& x) override;
};

}  // namespace glim
