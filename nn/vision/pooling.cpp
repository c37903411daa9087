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
                                 " is outside 0 to half a window of " + std::to_string(w.span()));
  return w;
}

}  // namespace

Pool2d::Pool2d(Pool kind, Extent2 kernel, const PoolOptions& o)
    : kind_(kind),
      rows_(window_of(kernel.rows, o.stride.rows, o.padding.rows, o.dilation.rows)),
      columns_(window_of(kernel.columns, o.stride.columns, o.padding.columns, o.dilation.columns)),
      count_padding_(o.count_include_pad) {}

Var Pool2d::forward(const Var& x) {
  if (x.rank() != 4) throw ShapeError("pool", "x must be (B, C, H, W)", {{"x", x}});
  require_windows(rows_, x.value(), 2, "pool");
  require_windows(columns_, x.value(), 3, "pool");
  const double fill = kind_ == Pool::Max ? -std::numeric_limits<double>::infinity() : 0;
  Var w = named(unfold(permute(x, {0, 2, 3, 1}), rows_, columns_, fill), "windows");
  // (B, H', W', kh, kw, C) -> (B, H', W', kh·kw, C) -> (B, H', W', C)
  Var y = reshape(w, {w.size(0), w.size(1), w.size(2), w.size(3) * w.size(4), w.size(5)});
  if (kind_ == Pool::Max) {
    Tensor largest = argmax(y.value(), 3, true);  // the first of equals
    y = squeeze(gather(y, 3, largest), 3);
  } else if (count_padding_) {
    y = sum(y, {3}) / static_cast<double>(rows_.kernel * columns_.kernel);
  } else {
    Tensor inside = unfold(ones({1, x.size(2), x.size(3), 1}, x.dtype()), rows_, columns_);
    y = div(sum(y, {3}), Var(sum(inside, {3, 4})));  // counts: (1, H', W', 1)
  }
  return permute(y, {0, 3, 1, 2});
}

}  // namespace glim
