#include "nn/vision/pooling.hpp"

#include <limits>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

Window window_of(Index kernel, Index stride, Index padding, Index dilation) {
  Window w{kernel, stride == 0 ? kernel : stride, dilation, padding, padding};
  auto fail = [](const std::string& problem) { throw ValueError("pool", problem); };
  if (w.kernel < 1) fail("the kernel size " + std::to_string(w.kernel) + " is below 1");
  if (w.stride < 1) fail("the stride " + std::to_string(w.stride) + " is below 1");
  if (w.dilation < 1) fail("the dilation " + std::to_string(w.dilation) + " is below 1");
  if (padding < 0 || padding > w.span() / 2)
    fail("padding " + std::to_string(padding) + " lies outside 0 to half a window of " +
         std::to_string(w.span()));
  return w;
}

// (B, C, H, W) -> (B, H', W', kh·kw, C)
Var windows_of(const Var& x, const Window& rows, const Window& columns, double fill) {
  Var w = named(unfold(permute(x, {0, 2, 3, 1}), rows, columns, fill), "windows");
  return reshape(w, {w.size(0), w.size(1), w.size(2), w.size(3) * w.size(4), w.size(5)});
}

void require_image(const Var& x, const Window& rows, const Window& columns) {
  if (x.rank() != 4)
    throw with_operands(ShapeError("pool", "x must be (B, C, H, W)"), Operand("x", x.value()));
  require_windows(rows, x.value(), 2, "pool");
  require_windows(columns, x.value(), 3, "pool");
}
void require_sequence(const Var& x, const Window& window) {
  if (x.rank() != 3)
    throw with_operands(ShapeError("pool", "x must be (B, C, T)"), Operand("x", x.value()));
  require_windows(window, x.value(), 2, "pool");
}

Var max_pool(const Var& x, const Window& rows, const Window& columns) {
  Var windows = windows_of(x, rows, columns, -std::numeric_limits<double>::infinity());
  Tensor largest = argmax(windows.value(), 3, true);  // the first of equals
  Var y = squeeze(gather(windows, 3, largest), 3);    // (B, H', W', C)
  return permute(y, {0, 3, 1, 2});
}

Var average_pool(const Var& x, const Window& rows, const Window& columns, bool count_padding) {
  Var y = sum(windows_of(x, rows, columns, 0), {3});  // (B, H', W', C)
  if (count_padding) {
    y = mul(y, 1.0 / static_cast<double>(rows.kernel * columns.kernel));
  } else {
    Tensor inside = unfold(ones({1, x.size(2), x.size(3), 1}, x.dtype()), rows, columns);
    y = div(y, Var(sum(inside, {3, 4})));  // counts: (1, H', W', 1)
  }
  return permute(y, {0, 3, 1, 2});
}

}  // namespace

MaxPool2d::MaxPool2d(Extent2 kernel, const MaxPoolOptions& o)
    : rows_(window_of(kernel.rows, o.stride.rows, o.padding.rows, o.dilation.rows)),
      columns_(window_of(kernel.columns, o.stride.columns, o.padding.columns, o.dilation.columns)) {
}
Var MaxPool2d::forward(const Var& x) {
  Scope scope = enter();
  require_image(x, rows_, columns_);
  return max_pool(x, rows_, columns_);
}

AvgPool2d::AvgPool2d(Extent2 kernel, const AvgPoolOptions& o)
    : rows_(window_of(kernel.rows, o.stride.rows, o.padding.rows, 1)),
      columns_(window_of(kernel.columns, o.stride.columns, o.padding.columns, 1)),
      count_include_pad_(o.count_include_pad) {}
Var AvgPool2d::forward(const Var& x) {
  Scope scope = enter();
  require_image(x, rows_, columns_);
  return average_pool(x, rows_, columns_, count_include_pad_);
}

MaxPool1d::MaxPool1d(Index kernel, const MaxPoolOptions& o)
    : window_(window_of(kernel, o.stride.columns, o.padding.columns, o.dilation.columns)) {}
Var MaxPool1d::forward(const Var& x) {
  Scope scope = enter();
  require_sequence(x, window_);
  return squeeze(max_pool(unsqueeze(x, 2), Window{}, window_), 2);
}

AvgPool1d::AvgPool1d(Index kernel, const AvgPoolOptions& o)
    : window_(window_of(kernel, o.stride.columns, o.padding.columns, 1)),
      count_include_pad_(o.count_include_pad) {}
Var AvgPool1d::forward(const Var& x) {
  Scope scope = enter();
  require_sequence(x, window_);
  return squeeze(average_pool(unsqueeze(x, 2), Window{}, window_, count_include_pad_), 2);
}

Var AdaptiveAvgPool1d::forward(const Var& x) {
  Scope scope = enter();
  if (x.rank() != 3 || x.size(2) < 1)
    throw with_operands(ShapeError("pool", "x must be (B, C, T), T 1 at least"),
                        Operand("x", x.value()));
  return mean(x, {2}, true);
}
Var AdaptiveAvgPool2d::forward(const Var& x) {
  Scope scope = enter();
  if (x.rank() != 4 || x.size(2) < 1 || x.size(3) < 1)
    throw with_operands(ShapeError("pool", "x must be (B, C, H, W), H and W 1 at least"),
                        Operand("x", x.value()));
  return mean(x, {2, 3}, true);
}

}  // namespace glim
