// Views, joining and cutting. Forward moves no element where a view will do.
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

struct Reshape final : Unary<Reshape> {
  static constexpr Formula formula{
      "reshape", "y = x under another shape", {"dx = dy under x's shape"}};
  explicit Reshape(const Shape& s) : target(s) {}
  Tensor forward(const Tensor& x) { return reshape(x, target); }
  Var dx(const Var& dy) const { return reshape(dy, x_shape); }
  Arguments arguments() const override { return {{"shape", target}}; }
  Shape target;
};

struct Permute final : Unary<Permute> {
  static constexpr Formula formula{
      "permute", "y = x with axis axes[i] in place i", {"dx = dy permuted back"}};
  explicit Permute(const Dims& a) : axes(a) {}
  Tensor forward(const Tensor& x) { return permute(x, axes); }
  Var dx(const Var& dy) const {
    Dims inverse = axes;
    for (int i = 0; i < axes.rank(); ++i)
      inverse[normalize_axis(axes[i], axes.rank(), "permute")] = i;
    return permute(dy, inverse);
  }
  Arguments arguments() const override { return {{"axes", axes}}; }
  Dims axes;
};

struct BroadcastTo final : Unary<BroadcastTo> {
  static constexpr Formula formula{"broadcast_to",
                                   "y = x repeated along new axes and axes of extent 1",
                                   {"dx = Σ dy over the repeats"}};
  explicit BroadcastTo(const Shape& s) : target(s) {}
  Tensor forward(const Tensor& x) { return broadcast_to(x, target); }
  Var dx(const Var& dy) const { return sum_to(dy, x_shape); }
  Arguments arguments() const override { return {{"shape", target}}; }
  Shape target;
};

struct SumTo final : Unary<SumTo> {
  static constexpr Formula formula{"sum_to",
                                   "y = Σ x over the axes in which `shape` has extent 1 or none",
                                   {"dx = dy repeated"}};
  explicit SumTo(const Shape& s) : target(s) {}
  Tensor forward(const Tensor& x) { return sum_to(x, target); }
  Var dx(const Var& dy) const { return broadcast_to(dy, x_shape); }
  Arguments arguments() const override { return {{"shape", target}}; }
  Shape target;
};

struct Slice final : Unary<Slice> {
  static constexpr Formula formula{
      "slice", "y = x[start : stop : step] along the axis", {"dx = zeros with dy at these places"}};
  Slice(int a, Index begin, Index end, Index d) : axis(a), start(begin), stop(end), step(d) {}
  Tensor forward(const Tensor& x) { return slice(x, axis, start, stop, step); }
  Var dx(const Var& dy) const { return unslice(dy, x_shape, axis, start, step); }
  AddTo kernel(const Tensor& dy) const {
    return [this, dy](const Tensor& total) {
      if (dy.numel() > 0) add_(slice(total, axis, start, stop, step), dy);
    };
  }
  Arguments arguments() const override {
    return {{"axis", axis}, {"start", start}, {"stop", stop}, {"step", step}};
  }
  int axis;
  Index start, stop, step;
};

struct Unslice final : Unary<Unslice> {
  static constexpr Formula formula{
      "unslice", "y = zeros of `shape` with x at start, start + step, ...", {"dx = dy there"}};
  Unslice(const Shape& s, int a, Index begin, Index d) : shape(s), axis(a), start(begin), step(d) {}
  Tensor forward(const Tensor& x) {
    Tensor y = zeros(shape, x.dtype());
    slice(y, axis, start, stop(), step).copy_(x);
    return y;
  }
  Var dx(const Var& dy) const { return slice(dy, axis, start, stop(), step); }

  Index stop() const {
    const Index length = x_shape[axis];
    return length ? start + (length - 1) * step + 1 : start;
  }
  Arguments arguments() const override {
    return {{"shape", shape}, {"axis", axis}, {"start", start}, {"stop", stop()}, {"step", step}};
  }
  Shape shape;
  int axis;
  Index start, step;
};

struct Concatenate final : Op {
  static constexpr Formula formula{"concatenate",
                                   "y = parts one after the other along the axis",
                                   {"d(part) = its section of dy"}};
  explicit Concatenate(int a) : axis(a) {}
  Tensor forward(const std::vector<Tensor>& parts) {
    for (const Tensor& p : parts) lengths.push_back(p.size(axis));
    return concatenate(parts, axis);
  }
  Grads gradient(const Var& dy) const override {
    Grads d;
    Index start = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (needs_grad(i)) d[i] = slice(dy, axis, start, start + lengths[i]);
      start += lengths[i];
    }
    return d;
  }
  Arguments arguments() const override { return {{"axis", axis}}; }
  int axis;
  std::vector<Index> lengths;
};

struct Tril final : Unary<Tril> {
  static constexpr Formula formula{
      "tril", "y = x where column - row <= k, else 0", {"dx = the same of dy"}};
  explicit Tril(Index k) : diagonal(k) {}
  Tensor forward(const Tensor& x) { return tril(x, diagonal); }
  Var dx(const Var& dy) const { return tril(dy, diagonal); }
  Arguments arguments() const override { return {{"diagonal", diagonal}}; }
  Index diagonal;
};

struct Triu final : Unary<Triu> {
  static constexpr Formula formula{
      "triu", "y = x where column - row >= k, else 0", {"dx = the same of dy"}};
  explicit Triu(Index k) : diagonal(k) {}
  Tensor forward(const Tensor& x) { return triu(x, diagonal); }
  Var dx(const Var& dy) const { return triu(dy, diagonal); }
  Arguments arguments() const override { return {{"diagonal", diagonal}}; }
  Index diagonal;
};

}  // namespace ops

Var reshape(const Operand& x, const Shape& shape) { return apply(ops::Reshape(shape), x); }
Var permute(const Operand& x, const Dims& axes) { return apply(ops::Permute(axes), x); }

Var transpose(const Operand& x, Index a, Index b) {
  Dims axes;
  for (int i = 0; i < x->rank(); ++i) axes.push_back(i);
  std::swap(axes[normalize_axis(a, x->rank(), "transpose")],
            axes[normalize_axis(b, x->rank(), "transpose")]);
  return permute(x, axes);
}

Var broadcast_to(const Operand& x, const Shape& shape) { return apply(ops::BroadcastTo(shape), x); }
Var sum_to(const Operand& x, const Shape& shape) { return apply(ops::SumTo(shape), x); }

Var slice(const Operand& x, Index axis, Index start, Index stop, Index step) {
  int a = normalize_axis(axis, x->rank(), "slice");
  Index n = x->shape()[a];
  if (start < 0) start = std::max<Index>(0, start + n);
  if (stop < 0) stop += n;
  return apply(ops::Slice(a, std::min(start, n), std::max<Index>(stop, 0), step), x);
}

Var unslice(const Operand& x, const Shape& shape, Index axis, Index start, Index step) {
  int a = normalize_axis(axis, shape.rank(), "unslice");
  bool fits = x->rank() == shape.rank() && start >= 0 && step >= 1;
  for (int i = 0; i < shape.rank() && fits; ++i) {
    Index n = x->shape()[i];
    // start + (n - 1) step < shape[i], without a product beyond int64
    fits = i != a ? n == shape[i]
                  : n == 0 || (start < shape[i] && n - 1 <= (shape[i] - 1 - start) / step);
  }
  if (!fits)
    throw ShapeError("unslice", "x does not fit into " + to_string(shape), {{"x", x->value()}});
  return apply(ops::Unslice(shape, a, start, step), x);
}

Var narrow(const Operand& x, Index axis, Index start, Index length) {
  narrow(x->value(), axis, start, length);  // IndexError where slice would clip
  return slice(x, axis, start, start + length, 1);
}

Var select(const Operand& x, Index axis, Index index) {
  int a = normalize_axis(axis, x->rank(), "select");
  select(x->value(), a, index);  // IndexError outside the extent
  if (index < 0) index += x->shape()[a];
  CallSite site(x.where());
  return squeeze(slice(x, a, index, index + 1), a);
}

Var squeeze(const Operand& x, Index axis) { return reshape(x, squeeze(x->value(), axis).shape()); }
Var unsqueeze(const Operand& x, Index axis) {
  return reshape(x, unsqueeze(x->value(), axis).shape());
}

Var concatenate(const std::vector<Var>& parts, Index axis, Where where) {
  if (parts.empty()) throw ValueError("concatenate", "needs at least one tensor");
  const int a = normalize_axis(axis, parts.front().rank(), "concatenate");
  return apply(ops::Concatenate(a), parts, where);
}

Var stack(const std::vector<Var>& parts, Index axis, Where where) {
  if (parts.empty()) throw ValueError("stack", "needs at least one tensor");
  CallSite site(where);
  const Var& first = parts.front();
  int a = normalize_axis(axis, first.rank() + 1, "stack");
  std::vector<Var> rows;
  for (const Var& p : parts) {
    if (p.shape() != first.shape())
      throw ShapeError("stack", "shapes differ", {{"first", first.value()}, {"part", p.value()}});
    rows.push_back(unsqueeze(p, a));
  }
  return concatenate(rows, a);
}

Var pad(const Operand& x, const std::vector<std::pair<Index, Index>>& widths, double value) {
  if (static_cast<int>(widths.size()) != x->rank())
    throw ShapeError("pad", "needs a pair (before, after) for each axis", {{"x", x->value()}});
  CallSite site(x.where());
  Var y = x->rank() ? *x : reshape(x, {});
  for (int axis = 0; axis < y.rank(); ++axis) {
    const auto [before, after] = widths[static_cast<std::size_t>(axis)];
    const Index n = y.size(axis);
    if (before < -n || after < -n - std::min<Index>(before, 0))
      throw ShapeError("pad", "cuts off more than axis " + std::to_string(axis) + " has",
                       {{"x", x->value()}});
    if (before < 0 || after < 0)
      y = slice(y, axis, std::max<Index>(0, -before), n - std::max<Index>(0, -after));
    Shape first = y.shape(), last = first;
    first[axis] = std::max<Index>(0, before);
    last[axis] = std::max<Index>(0, after);
    if (before > 0 || after > 0)
      y = concatenate({full(first, value, y.dtype()), y, full(last, value, y.dtype())}, axis);
  }
  return y;
}

std::vector<Var> split(const Operand& x, Index axis, const std::vector<Index>& lengths) {
  split(x->value(), axis, lengths);  // ShapeError unless the lengths add up
  std::vector<Var> parts;
  Index start = 0;
  for (Index n : lengths) {
    parts.push_back(narrow(x, axis, start, n));
    start += n;
  }
  return parts;
}

Var tril(const Operand& x, Index diagonal) { return apply(ops::Tril(diagonal), x); }
Var triu(const Operand& x, Index diagonal) { return apply(ops::Triu(diagonal), x); }

}  // namespace glim
