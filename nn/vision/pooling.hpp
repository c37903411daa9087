// Pooling: every window of a channel becomes one number, as torch.nn's.
//
//   max      y = max over the window        dx = dy at the first of the largest elements
//   average  y = Σ window / n               dx = dy/n at every element
//   n: the window's size, or, without count_include_pad, the positions of it that lie in x
//
//   x: (B, C, T) or (B, C, H, W)   y: (B, C, T') or (B, C, H', W')
//   T' = ⌊(T + 2p - d (k - 1) - 1)/s⌋ + 1; the stride is the kernel's size unless given
//
// Padding counts as -∞ for max, as 0 for average; it is at most half of a window. The adaptive
// average gives one number for each channel: (B, C, 1) or (B, C, 1, 1).
//
// All are compositions: unfold, then gather of the largest or a mean.
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

class MaxPool2d final : public Layer {
 public:
  explicit MaxPool2d(Extent2 kernel, const MaxPoolOptions& options = {});
  Var forward(const Var& x) override;

 private:
  Window rows_, columns_;
};

class AvgPool2d final : public Layer {
 public:
  explicit AvgPool2d(Extent2 kernel, const AvgPoolOptions& options = {});
  Var forward(const Var& x) override;

 private:
  Window rows_, columns_;
  bool count_include_pad_;
};

// For sequences; of each Extent2 the columns count.
class MaxPool1d final : public Layer {
 public:
  explicit MaxPool1d(Index kernel, const MaxPoolOptions& options = {});
  Var forward(const Var& x) override;

 private:
  Window window_;
};
class AvgPool1d final : public Layer {
 public:
  explicit AvgPool1d(Index kernel, const AvgPoolOptions& options = {});
  Var forward(const Var& x) override;

 private:
  Window window_;
  bool count_include_pad_;
};

class AdaptiveAvgPool1d final : public Layer {  // (B, C, T) -> (B, C, 1)
 public:
  Var forward(const Var& x) override;
};
class AdaptiveAvgPool2d final : public Layer {  // (B, C, H, W) -> (B, C, 1, 1)
 public:
  Var forward(const Var& x) override;
};

}  // namespace glim
