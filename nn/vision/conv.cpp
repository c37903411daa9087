#include "nn/vision/conv.hpp"

#include <cmath>

#include "nn/init.hpp"

namespace glim {
namespace {

// (O, C/G, k, ...), the kernel's size being each window's.
Tensor initial_weight(Index in, Index out, Index groups, std::initializer_list<Window> windows) {
  if (in < 1 || out < 1)
    throw ValueError("conv", "there must be at least one input and one output channel");
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    throw ValueError("conv", std::to_string(groups) + " groups do not divide " +
                                 std::to_string(in) + " input and " + std::to_string(out) +
                                 " output channels");
  for (const Window& w : windows) require_sound(w, "conv");
  Shape shape{out, in / groups};
  for (const Window& w : windows) shape.push_back(w.kernel);
  Tensor w = empty(shape);
  kaiming_uniform_(w, std::sqrt(5.0));
  return w;
}
Tensor initial_bias(const Shape& weight) {
  Tensor b = empty({weight[0]});
  double bound = 1 / std::sqrt(static_cast<double>(fans_of(weight).in));
  uniform_(b, -bound, bound);
  return b;
}

// x (B, H, W, C), weight (O, C/G, kh, kw) -> (B, H', W', O)
Var convolve(const Var& x, const Var& weight, const Var& bias, const Window& rows,
             const Window& columns) {
  Index out = weight.size(0), taps = rows.kernel * columns.kernel;
  Var windows;  // (B, H', W', kh, kw, C)
  if (rows.is_identity() && columns.is_identity())
    windows = reshape(x, {x.size(0), x.size(1), x.size(2), 1, 1, x.size(3)});
  else
    windows = named(unfold(x, rows, columns), "windows");
  Index part = weight.size(1), groups = x.size(3) / part, row = taps * part;
  // (O, C/G, kh, kw) -> (O, kh, kw, C/G) -> (O, kh·kw·C/G)
  Var kernels = reshape(permute(weight, {0, 2, 3, 1}), {out, row});
  Shape places{windows.size(0), windows.size(1), windows.size(2), row};
  if (groups == 1) return linear(reshape(windows, places), kernels, bias);
  // A product for each group: (B·H'·W', kh·kw, G, C/G) -> (G, B·H'·W', kh·kw·C/G) -> (G, B·H'·W', O/G)
  const Index count = places[0] * places[1] * places[2];
  Var of_groups = permute(reshape(windows, {count, taps, groups, part}), {2, 0, 1, 3});
  Var of_kernels = transpose(reshape(kernels, {groups, out / groups, row}));
  Var y = matmul(reshape(of_groups, {groups, count, row}), of_kernels);
  places[3] = out;
  y = reshape(permute(y, {1, 0, 2}), places);
  return bias.defined() ? y + bias : y;
}

[[noreturn]] void wrong_input(const Var& x, const std::string& expected) {
  throw ShapeError("conv", "x must be " + expected, {{"x", x}});
}

Window sequence_window(Index kernel, const Conv1dOptions& o) {
  Window w{kernel, o.stride, o.dilation, o.padding, o.padding};
  if (o.mode == ConvPadding::Given) return w;
  if (o.padding != 0)
    throw ValueError("conv", "give a padding or the mode same or causal, not both");
  if (o.mode == ConvPadding::Same && o.stride != 1)
    throw ValueError("conv", "padding that keeps the length needs a stride of 1");
  Index total = w.span() - 1;
  w.before = o.mode == ConvPadding::Causal ? total : total / 2;
  w.after = o.mode == ConvPadding::Causal ? 0 : total - w.before;
  return w;
}

}  // namespace

Conv1d::Conv1d(Index in, Index out, Index kernel, const Conv1dOptions& o)
    : in_(in),
      window_(sequence_window(kernel, o)),
      GLIM_NAMED(weight, initial_weight(in, out, o.groups, {window_})),
      GLIM_NAMED(bias, o.bias ? initial_bias(weight.shape()) : Tensor()) {}

Var Conv1d::slide(const Var& x, const Window& window) {
  if (x.rank() != 3 || x.size(1) != in_) wrong_input(x, "(B, " + std::to_string(in_) + ", T)");
  require_windows(window, x.value(), 2, "conv");
  // (B, C, T) -> (B, C, 1, T) -> (B, 1, T, C), and back
  Var image = permute(unsqueeze(x, 2), {0, 2, 3, 1});
  Var y = convolve(image, unsqueeze(weight, 2), bias, Window{}, window);
  return squeeze(permute(y, {0, 3, 1, 2}), 2);
}

Var Conv1d::forward(const Var& x) { return slide(x, window_); }

Var Conv1d::forward_window(const Var& x) {
  return in_scope([&] {
    if (x.rank() == 3 && x.size(2) != window_.span())
      wrong_input(x, "one window of " + std::to_string(window_.span()) + " positions");
    return slide(x, {.kernel = window_.kernel, .dilation = window_.dilation});
  });
}

Conv2d::Conv2d(Index in, Index out, Extent2 kernel, const Conv2dOptions& o)
    : in_(in),
      rows_{kernel.rows, o.stride.rows, o.dilation.rows, o.padding.rows, o.padding.rows},
      columns_{kernel.columns, o.stride.columns, o.dilation.columns, o.padding.columns,
               o.padding.columns},
      GLIM_NAMED(weight, initial_weight(in, out, o.groups, {rows_, columns_})),
      GLIM_NAMED(bias, o.bias ? initial_bias(weight.shape()) : Tensor()) {}

Var Conv2d::forward(const Var& x) {
  if (x.rank() != 4 || x.size(1) != in_) wrong_input(x, "(B, " + std::to_string(in_) + ", H, W)");
  require_windows(rows_, x.value(), 2, "conv");
  require_windows(columns_, x.value(), 3, "conv");
  // (B, C, H, W) -> (B, H, W, C), and back
  Var y = convolve(permute(x, {0, 2, 3, 1}), weight, bias, rows_, columns_);
  return permute(y, {0, 3, 1, 2});
}

}  // namespace glim
