// Views of a tensor: the same storage under another shape and other strides.
#include <algorithm>

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
    throw with_operands(ShapeError("reshape", "cannot view " + std::to_string(n) + " elements as " +
                                                  to_string(shape)),
                        Operand("x", x));
  return shape;
}

}  // namespace

// A new axis may span old axes only while these lie evenly: stride[i] = stride[i+1]·extent[i+1].
std::optional<Tensor> Tensor::view(const Shape& wanted) const {
  if (!defined()) throw StateError("reshape", "the tensor is undefined");
  Shape shape = resolve(wanted, *this);
  if (numel() == 0 || is_contiguous())
    return from_storage(storage_, offset_, shape, contiguous_strides(shape), dtype_);
  Strides strides = Dims::filled(shape.rank(), 1);
  int to = shape.rank() - 1;
  int from = rank() - 1;
  while (from >= 0) {
    if (shape_[from] == 1) {
      --from;
      continue;
    }
    // Gather a maximal run of evenly spaced old axes ending at `from`.
    Index step = strides_[from];
    Index run = shape_[from];
    int first = from - 1;
    while (first >= 0 && (shape_[first] == 1 || strides_[first] == step * run)) {
      run *= shape_[first];
      --first;
    }
    // Hand it out to new axes from the right.
    Index left = run;
    while (to >= 0 && left % shape[to] == 0 && (left > 1 || shape[to] == 1)) {
      strides[to] = step * (run / left);
      left /= shape[to];
      --to;
    }
    if (left != 1) return std::nullopt;
    from = first;
  }
  for (; to >= 0; --to)
    if (shape[to] != 1) return std::nullopt;
  return from_storage(storage_, offset_, shape, strides, dtype_);
}

Tensor Tensor::reshape(Shape shape) const {
  if (auto v = view(shape)) return *v;
  return *clone().view(shape);
}

Tensor Tensor::permute(const Dims& axes) const {
  if (axes.rank() != rank())
    throw with_operands(
        ShapeError("permute", "axes " + to_string(axes) + " for rank " + std::to_string(rank())),
        Operand("x", *this));
  normalize_axes(axes, rank(), "permute");  // each axis once
  Tensor y = *this;
  for (int i = 0; i < rank(); ++i) {
    int a = normalize_axis(axes[i], rank(), "permute");
    y.shape_[i] = shape_[a];
    y.strides_[i] = strides_[a];
  }
  return y;
}

Tensor Tensor::transpose(Index a, Index b) const {
  int i = normalize_axis(a, rank(), "transpose"), j = normalize_axis(b, rank(), "transpose");
  Tensor y = *this;
  std::swap(y.shape_[i], y.shape_[j]);
  std::swap(y.strides_[i], y.strides_[j]);
  return y;
}

Tensor Tensor::slice(Index axis, Index start, Index stop, Index step) const {
  int a = normalize_axis(axis, rank(), "slice");
  if (step < 1)
    throw with_operands(ValueError("slice", "step " + std::to_string(step) + " is below 1"),
                        Operand("x", *this));
  Index n = shape_[a];
  if (start < 0) start += n;
  if (stop < 0) stop += n;
  start = std::clamp<Index>(start, 0, n);
  stop = std::clamp<Index>(stop, start, n);
  Tensor y = *this;
  if (start < n) y.offset_ += start * strides_[a];
  y.shape_[a] = stop > start ? (stop - start - 1) / step + 1 : 0;
  if (y.shape_[a] > 1) y.strides_[a] *= step;
  return y;
}

Tensor Tensor::narrow(Index axis, Index start, Index length) const {
  int a = normalize_axis(axis, rank(), "narrow");
  if (start < 0 || length < 0 || start > shape_[a] - length)
    throw with_operands(
        IndexError("narrow", std::to_string(length) + " elements from " + std::to_string(start) +
                                 " on axis " + std::to_string(a) + " of extent " +
                                 std::to_string(shape_[a])),
        Operand("x", *this));
  return slice(a, start, start + length);
}

Tensor Tensor::select(Index axis, Index index) const {
  int a = normalize_axis(axis, rank(), "select");
  Index n = shape_[a];
  if (index < -n || index >= n)
    throw with_operands(
        IndexError("select", "index " + std::to_string(index) + " on axis " + std::to_string(a) +
                                 " of extent " + std::to_string(n)),
        Operand("x", *this));
  Tensor y = *this;
  y.offset_ += (index < 0 ? index + n : index) * strides_[a];
  y.shape_.erase(a);
  y.strides_.erase(a);
  return y;
}

Tensor Tensor::expand(const Shape& shape) const {
  int extra = shape.rank() - rank();
  bool fits = extra >= 0;
  Strides strides = Dims::filled(shape.rank(), 0);
  for (int i = 0; i < rank() && fits; ++i) {
    if (shape_[i] == shape[i + extra]) {
      strides[i + extra] = strides_[i];
    } else {
      fits = shape_[i] == 1;
    }
  }
  if (!fits)
    throw with_operands(ShapeError("expand", "does not broadcast to " + to_string(shape)),
                        Operand("x", *this));
  checked_numel(shape, "expand");
  Tensor y = *this;
  y.shape_ = shape;
  y.strides_ = strides;
  return y;
}

Tensor Tensor::squeeze(Index axis) const {
  int a = normalize_axis(axis, rank(), "squeeze");
  if (shape_[a] != 1)
    throw with_operands(ShapeError("squeeze", "axis " + std::to_string(a) + " has extent " +
                                                  std::to_string(shape_[a])),
                        Operand("x", *this));
  Tensor y = *this;
  y.shape_.erase(a);
  y.strides_.erase(a);
  return y;
}

Tensor Tensor::unsqueeze(Index axis) const {
  int a = normalize_axis(axis, rank() + 1, "unsqueeze");
  Tensor y = *this;
  y.shape_.insert(a, 1);
  y.strides_.insert(a, 1);
  return y;
}

}  // namespace glim
