#include "nn/vision/pooling.hpp"

#include <limits>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

Window window_of(Index kernel, Index stride, Index padding, Index dilation) {
  Window w{kernel, stride == 0 ? kernel : stride, dilation, padding, padding};
  require_sound(w, "pool");
  if (padding > w.span() / 2)
    throw ValueError("pool", "padding " + std::to_string(padding) +
                                 " lies outside 0 to half a window of " + std::to_string(w.span()));
  return w;
}

// (B, C, H, W) -> (B, H', W', kh·kw, C)
Var windows_of(const Var& x, const Window& rows, const Window& columns, double fill) {
  Var w = named(unfold(permute(x, {0, 2, 3, 1}), rows, columns, fill), "windows");
  return reshape(w, {w.size(0), w.size(1), w.size(2), w.size(3) * w.size(4), w.size(5)});
}

}  // namespace

WindowPool::WindowPool(int axes, Extent2 kernel, Extent2 stride, Extent2 padding, Extent2 dilation)
    : columns_(window_of(kernel.columns, stride.columns, padding.columns, dilation.columns)),
      axes_(axes) {
  if (axes == 2) rows_ = window_of(kernel.rows, stride.rows, padding.rows, dilation.rows);
}

Var WindowPool::forward(const Var& x) {
  if (x.rank() != axes_ + 2)
    throw ShapeError("pool", axes_ == 2 ? "x must be (B, C, H, W)" : "x must be (B, C, T)",
                     {{"x", x}});
  if (axes_ == 2) require_windows(rows_, x.value(), 2, "pool");
  require_windows(columns_, x.value(), axes_ + 1, "pool");
  return axes_ == 2 ? pool(x) : squeeze(pool(unsqueeze(x, 2)), 2);
}

Var MaxPool::pool(const Var& x) const {
  Var windows = windows_of(x, rows_, columns_, -std::numeric_limits<double>::infinity());
  Tensor largest = argmax(windows.value(), 3, true);  // the first of equals
  Var y = squeeze(gather(windows, 3, largest), 3);    // (B, H', W', C)
  return permute(y, {0, 3, 1, 2});
}

Var AvgPool::pool(const Var& x) const {
  Var y = sum(windows_of(x, rows_, columns_, 0), {3});  // (B, H', W', C)
  if (count_padding_) {
    y = y / static_cast<double>(rows_.kernel * columns_.kernel);
  } else {
    Tensor inside = unfold(ones({1, x.size(2), x.size(3), 1}, x.dtype()), rows_, columns_);
    y = div(y, Var(sum(inside, {3, 4})));  // counts: (1, H', W', 1)
  }
  return permute(y, {0, 3, 1, 2});
}

Var AdaptiveAvgPool1d::forward(const Var& x) {
  if (x.rank() != 3 || x.size(2) < 1)
    throw ShapeError("pool", "x must be (B, C, T), T at least 1", {{"x", x}});
  return mean(x, {2}, true);
}
Var AdaptiveAvgPool2d::forward(const Var& x) {
  if (x.rank() != 4 || x.size(2) < 1 || x.size(3) < 1)
    throw ShapeError("pool", "x must be (B, C, H, W), H and W at least 1", {{"x", x}});
  return mean(x, {2, 3}, true);
}

}  // namespace glim
