// Views of a tensor: the same storage under another shape and other strides.
#include <algorithm>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/tensor.hpp"

namespace glim {
namespace {

// Replaces a single -1 by what is left of `numel`; ShapeError when the products differ.
Shape resolve(Shape shape, const Tensor& x) {
  Index known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && unknown < 0) {
      unknown = i;
    } else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
      unknown = -2;
      break;
    }
  }
  Index n = x.numel();
  if (unknown >= 0 && known > 0 && n % known == 0) {
    shape[unknown] = n / known;
    return shape;
  }
  if (unknown != -1 || known != n)
    throw ShapeError("reshape",
                     "cannot view " + std::to_string(n) + " elements as " + to_string(shape),
                     {{"x", x}});
  return shape;
}

}  // namespace

// A new axis may span old axes only while these are evenly spaced: stride[i] = stride[i+1]·extent[i+1].
std::optional<Tensor> Tensor::view(const Shape& sizes) const {
  if (!defined()) throw StateError("reshape", "the tensor is undefined");
  Shape shape = resolve(sizes, *this);
  if (numel() == 0)
    return from_storage(storage_, offset_, shape, contiguous_strides(shape), dtype_);
  if (is_contiguous()) {
    Tensor y = *this;
    y.shape_ = shape;
    y.strides_ = contiguous_strides(shape);
    return y;
  }
  Strides strides = Dims::filled(shape.rank(), 1);
  int new_axis = shape.rank() - 1;
  int old_axis = rank() - 1;
  while (old_axis >= 0) {
    if (shape_[old_axis] == 1) {
      --old_axis;
      continue;
    }
    // Gather a maximal run of evenly spaced old axes that ends at `old_axis`.
    Index step = strides_[old_axis];
    Index run = shape_[old_axis];
    int first = old_axis - 1;
    while (first >= 0 && (shape_[first] == 1 || strides_[first] == step * run)) {
      run *= shape_[first];
      --first;
    }
    // Hand it out to new axes from the right.
    Index left = run;
    while (new_axis >= 0 && left % shape[new_axis] == 0) {
      strides[new_axis] = step * (run / left);
      left /= shape[new_axis];
      --new_axis;
    }
    if (left != 1) return std::nullopt;
    old_axis = first;
  }
  return from_storage(storage_, offset_, shape, strides, dtype_);
}

Tensor reshape(const Tensor& x, Shape shape) {
  if (auto y = x.view(shape)) return std::move(*y);
  return *x.clone().view(shape);
}

Tensor permute(const Tensor& x, const Dims& axes) {
  if (axes.rank() != x.rank())
    throw ShapeError("permute", "axes " + to_string(axes) + " for rank " + std::to_string(x.rank()),
                     {{"x", x}});
  normalize_axes(axes, x.rank(), "permute");  // each axis once
  Tensor y = x;
  for (int i = 0; i < x.rank(); ++i) {
    int a = normalize_axis(axes[i], x.rank(), "permute");
    y.shape_[i] = x.shape()[a];
    y.strides_[i] = x.strides()[a];
  }
  return y;
}

Tensor transpose(const Tensor& x, Index a, Index b) {
  int i = normalize_axis(a, x.rank(), "transpose"), j = normalize_axis(b, x.rank(), "transpose");
  Tensor y = x;
  std::swap(y.shape_[i], y.shape_[j]);
  std::swap(y.strides_[i], y.strides_[j]);
  return y;
}

Tensor slice(const Tensor& x, Index axis, Index start, Index stop, Index step) {
  int a = normalize_axis(axis, x.rank(), "slice");
  if (step < 1)
    throw ValueError("slice", "step " + std::to_string(step) + " is below 1", {{"x", x}});
  Index n = x.shape()[a];
  if (start < 0) start += n;
  if (stop < 0) stop += n;
  start = std::clamp<Index>(start, 0, n);
  stop = std::clamp<Index>(stop, start, n);
  Tensor y = x;
  if (start < n) y.offset_ += start * x.strides()[a];
  y.shape_[a] = stop > start ? (stop - start - 1) / step + 1 : 0;
  if (y.shape_[a] > 1) y.strides_[a] *= step;
  return y;
}

Tensor narrow(const Tensor& x, Index axis, Index start, Index length) {
  int a = normalize_axis(axis, x.rank(), "narrow");
  if (start < 0 || length < 0 || start > x.shape()[a] - length)
    throw IndexError("narrow",
                     std::to_string(length) + " elements from " + std::to_string(start) +
                         " on axis " + std::to_string(a) + " of extent " +
                         std::to_string(x.shape()[a]),
                     {{"x", x}});
  return slice(x, a, start, start + length);
}

Tensor select(const Tensor& x, Index axis, Index index) {
  int a = normalize_axis(axis, x.rank(), "select");
  Index n = x.shape()[a];
  if (index < -n || index >= n)
    throw IndexError("select",
                     "index " + std::to_string(index) + " on axis " + std::to_string(a) +
                         " of extent " + std::to_string(n),
                     {{"x", x}});
  Tensor y = x;
  y.offset_ += (index < 0 ? index + n : index) * x.strides()[a];
  y.shape_.erase(a);
  y.strides_.erase(a);
  return y;
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  int extra = shape.rank() - x.rank();
  bool fits = extra >= 0;
  Strides strides = Dims::filled(shape.rank(), 0);
  for (int i = 0; i < x.rank() && fits; ++i) {
    if (x.shape()[i] == shape[i + extra]) {
      strides[i + extra] = x.strides()[i];
    } else {
      fits = x.shape()[i] == 1;
    }
  }
  if (!fits)
    throw ShapeError("broadcast_to", "does not broadcast to " + to_string(shape), {{"x", x}});
  checked_numel(shape, "broadcast_to");
  Tensor y = x;
  y.shape_ = shape;
  y.strides_ = strides;
  return y;
}

Tensor squeeze(const Tensor& x, Index axis) {
  int a = normalize_axis(axis, x.rank(), "squeeze");
  if (x.shape()[a] != 1)
    throw ShapeError("squeeze",
                     "axis " + std::to_string(a) + " has extent " + std::to_string(x.shape()[a]),
                     {{"x", x}});
  return select(x, a, 0);
}

Tensor unsqueeze(const Tensor& x, Index axis) {
  int a = normalize_axis(axis, x.rank() + 1, "unsqueeze");
  Tensor y = x;
  y.shape_.insert(a, 1);
  y.strides_.insert(a, 1);
  return y;
}

}  // namespace glim
