#include "nn/vision/conv.hpp"

#include <cmath>

#include "nn/init.hpp"

namespace glim {
namespace {

void require_sizes(Index in, Index out, Index groups, const Window& w) {
  auto fail = [](const std::string& problem) { throw ValueError("conv", problem); };
  if (in < 1 || out < 1) fail("there must be at least one input and one output channel");
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    fail(std::to_string(groups) + " groups do not divide " + std::to_string(in) + " and " +
         std::to_string(out) + " channels");
  require_sound(w, "conv");
}

// (O, C/G, k, ...), the kernel's size being each window's.
Tensor initial_weight(Index in, Index out, Index groups, std::initializer_list<Window> windows) {
  for (const Window& w : windows) require_sizes(in, out, groups, w);
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
Var convolve(const Var& x, const Var& weight, const Var& bias, Index groups, const Window& rows,
             const Window& columns) {
  Index out = weight.size(0), taps = rows.kernel * columns.kernel;
  Var windows;  // (B, H', W', kh, kw, C)
  if (rows.is_identity() && columns.is_identity())
    windows = reshape(x, {x.size(0), x.size(1), x.size(2), 1, 1, x.size(3)});
  else
    windows = named(unfold(x, rows, columns), "windows");
  Index b = windows.size(0), h = windows.size(1), w = windows.size(2), c = x.size(3) / groups;
  if (groups == 1) {
    // (O, C, kh, kw) -> (O, kh, kw, C) -> (O, kh·kw·C)
    Var kernels = reshape(permute(weight, {0, 2, 3, 1}), {out, taps * c});
    return linear(reshape(windows, {b, h, w, taps * c}), kernels, bias);
  }
  if (groups == x.size(3) &&
      groups == out) {  // one kernel for each channel: no matrices to speak of
    Var kernels = transpose(reshape(weight, {out, taps}));  // (kh·kw, C)
    Var y = sum(reshape(windows, {b, h, w, taps, out}) * kernels, {3});
    return bias.defined() ? y + bias : y;
  }
  // (B, H', W', kh, kw, G·C/G) -> (G, R, kh·kw·C/G), R = B H' W'
  Var parts = reshape(permute(reshape(windows, {b * h * w, taps, groups, c}), {2, 0, 1, 3}),
                      {groups, b * h * w, taps * c});
  // (G·O/G, C/G, kh, kw) -> (G, kh·kw·C/G, O/G)
  Var kernels = reshape(permute(reshape(weight, {groups, out / groups, c, taps}), {0, 3, 2, 1}),
                        {groups, taps * c, out / groups});
  // (G, R, O/G) -> (R, G, O/G) -> (B, H', W', O)
  Var y = reshape(permute(matmul(parts, kernels), {1, 0, 2}), {b, h, w, out});
  return bias.defined() ? y + bias : y;
}

[[noreturn]] void wrong_input(const Var& x, const std::string& wanted) {
  throw ShapeError("conv", "x must be " + wanted, {{"x", x}});
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
    : groups_(o.groups),
      window_(sequence_window(kernel, o)),
      GLIM_NAMED(weight, initial_weight(in, out, groups_, {window_})),
      GLIM_NAMED(bias, o.bias ? initial_bias(weight.shape()) : Tensor()) {}

Var Conv1d::slide(const Var& x, const Window& window) {
  Index in = weight.size(1) * groups_;
  if (x.rank() != 3 || x.size(1) != in) wrong_input(x, "(B, " + std::to_string(in) + ", T)");
  require_windows(window, x.value(), 2, "conv");
  // (B, C, T) -> (B, C, 1, T) -> (B, 1, T, C), and back
  Var image = permute(unsqueeze(x, 2), {0, 2, 3, 1});
  Var y = convolve(image, unsqueeze(weight, 2), bias, groups_, Window{}, window);
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
    : groups_(o.groups),
      rows_{kernel.rows, o.stride.rows, o.dilation.rows, o.padding.rows, o.padding.rows},
      columns_{kernel.columns, o.stride.columns, o.dilation.columns, o.padding.columns,
               o.padding.columns},
      GLIM_NAMED(weight, initial_weight(in, out, groups_, {rows_, columns_})),
      GLIM_NAMED(bias, o.bias ? initial_bias(weight.shape()) : Tensor()) {}

Var Conv2d::forward(const Var& x) {
  Index in = weight.size(1) * groups_;
  if (x.rank() != 4 || x.size(1) != in) wrong_input(x, "(B, " + std::to_string(in) + ", H, W)");
  require_windows(rows_, x.value(), 2, "conv");
  require_windows(columns_, x.value(), 3, "conv");
  // (B, C, H, W) -> (B, H, W, C), and back
  Var y = convolve(permute(x, {0, 2, 3, 1}), weight, bias, groups_, rows_, columns_);
  return permute(y, {0, 3, 1, 2});
}

}  // namespace glim
