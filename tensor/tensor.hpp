// Tensor: an n-d array, i.e. storage, offset, shape, strides (in elements) and dtype. No gradients.
//
// Copying a Tensor copies the handle: both see the same elements. Views (reshape where strides
// allow, permute, slice, select, broadcast_to, squeeze ...) never copy. Element (i0, i1, ...) is at
// offset + i0·stride0 + i1·stride1 + ...
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/error.hpp"
#include "tensor/shape.hpp"
#include "tensor/storage.hpp"

namespace glim {

class Tensor {
 public:
  Tensor() = default;  // undefined: defined() is false

  bool defined() const { return static_cast<bool>(storage_); }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  DType dtype() const { return dtype_; }
  int rank() const { return shape_.rank(); }
  Index size(Index axis) const {  // extent; IndexError outside [-rank, rank)
    return shape_[normalize_axis(axis, rank(), "size")];
  }
  Index numel() const { return numel_of(shape_); }
  Index bytes() const { return numel() * static_cast<Index>(size_of(dtype_)); }  // the elements'
  Index offset() const { return offset_; }
  const Storage& storage() const { return storage_; }
  bool is_contiguous() const;
  std::string kind() const;  // "(2, 3) float32"

  // First element. DTypeError when T is not the dtype; undefined tensors are a StateError.
  template <class T>
  T* data() const {
    if (dtype_ != dtype_of<T> || !storage_) wrong_access(dtype_of<T>);
    return reinterpret_cast<T*>(storage_.data()) + offset_;
  }
  // The one element of a tensor of numel 1, converted; ShapeError otherwise.
  double item() const;
  template <class T>
  T at(std::initializer_list<Index> index) const {  // IndexError outside the shape
    return data<T>()[place_of(index)];
  }
  template <class T>
  std::vector<T> to_vector() const {  // row-major copy
    Tensor c = contiguous();
    return std::vector<T>(c.data<T>(), c.data<T>() + numel());
  }

  // reshape without a copy, where strides allow it; ShapeError where the shapes do not fit.
  std::optional<Tensor> view(const Shape& shape) const;

  // Copies.
  Tensor contiguous() const;  // itself when already row-major
  Tensor clone() const;
  Tensor to(DType dtype) const;  // itself when equal; see convert in dtype.hpp
  Tensor read_only() const;      // shares the elements; writes are a ValueError
  // Writes. ShapeError unless `source` broadcasts to this shape; DTypeError unless dtypes agree;
  // ValueError when several positions of this tensor share one element (it was expanded). A source
  // that overlaps this tensor is read before anything is written.
  void copy_(const Tensor& source, const Where& where = Where::current()) const;
  void fill_(double value, const Where& where = Where::current()) const;

  friend Tensor empty(const Shape& shape, DType dtype);
  friend Tensor permute(const Tensor& x, const Dims& axes);
  friend Tensor transpose(const Tensor& x, Index a, Index b);
  friend Tensor slice(const Tensor& x, Index axis, Index start, Index stop, Index step);
  friend Tensor select(const Tensor& x, Index axis, Index index);
  friend Tensor broadcast_to(const Tensor& x, const Shape& shape);
  friend Tensor unsqueeze(const Tensor& x, Index axis);
  // Element `offset`, any strides, within the storage: ShapeError when they reach outside it,
  // StateError for an undefined storage.
  static Tensor from_storage(Storage storage, Index offset, const Shape& shape,
                             const Strides& strides, DType dtype);

 private:
  [[noreturn]] void wrong_access(DType dtype) const;
  Index place_of(std::initializer_list<Index> index) const;
  Storage storage_;
  Index offset_ = 0;
  Shape shape_;
  Strides strides_;
  DType dtype_ = DType::Float32;
};

// Views, spelled as on Vars (autograd/ops.hpp). ShapeError / IndexError where the arguments do not fit.
Tensor reshape(const Tensor& x,
               Shape shape);  // one extent may be -1; copies only where strides force it
Tensor permute(const Tensor& x, const Dims& axes);
Tensor transpose(const Tensor& x, Index a = -2, Index b = -1);
// Elements start, start+step, ... below stop (step >= 1; negatives count from the end, then the
// range is clipped as in NumPy).
Tensor slice(const Tensor& x, Index axis, Index start, Index stop, Index step = 1);
Tensor narrow(const Tensor& x, Index axis, Index start, Index length);  // IndexError, no clipping
Tensor select(const Tensor& x, Index axis, Index index);                // drops the axis
Tensor broadcast_to(const Tensor& x, const Shape& shape);               // stride 0 where broadcast
Tensor squeeze(const Tensor& x, Index axis);    // ShapeError unless extent 1
Tensor unsqueeze(const Tensor& x, Index axis);  // axis in [-rank-1, rank]

// Factories. ShapeError for negative extents or overflowing products.
Tensor empty(const Shape& shape, DType dtype = DType::Float32);  // uninitialised
Tensor full(const Shape& shape, double value, DType dtype = DType::Float32);
Tensor zeros(const Shape& shape, DType dtype = DType::Float32);
Tensor ones(const Shape& shape, DType dtype = DType::Float32);
Tensor scalar(double value, DType dtype = DType::Float32);  // shape ()
// start, start + step, ... below stop. ValueError for step 0.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::Int64);
Tensor eye(Index n, DType dtype = DType::Float32);
// Row-major copy of `values`; ShapeError unless their number is the product of `shape`.
template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  if (checked_numel(shape, "from_vector") != static_cast<Index>(values.size()))
    throw ShapeError("from_vector",
                     std::to_string(values.size()) + " values for shape " + to_string(shape));
  Tensor t = empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
// The dtype is float32 by default, for whole numbers too: tensor({1, 2, 3, 4}, {2, 2}). Without a
// shape (n,). Errors as of from_vector.
Tensor tensor(std::initializer_list<double> values, DType dtype = DType::Float32);
Tensor tensor(std::initializer_list<double> values, const Shape& shape,
              DType dtype = DType::Float32);
inline Tensor tensor(std::initializer_list<double> values, std::initializer_list<Index> shape,
                     DType dtype = DType::Float32) {  // {} is the shape of one number, no dtype
  return tensor(values, Shape(shape), dtype);
}

std::ostream& operator<<(std::ostream& out, const Tensor& x);  // as NumPy prints it

// Tensors by name: the state of a module or an optimizer, or a file of weights.
using StateDict = std::map<std::string, Tensor>;

// Throws DTypeError(op) unless x has one of the floating dtypes.
void require_floating(const Tensor& x, std::string_view op);
// Throws ValueError(op) for read-only memory, and when an axis of x repeats one element: a write would not be defined.
void require_writable(const Tensor& x, std::string_view op);
// Makes `source` safe to read while a loop writes `target`: expanded to target's
// shape (ShapeError(op) otherwise), cloned when it overlaps target in another layout.
Tensor source_for(const Tensor& target, const Tensor& source, std::string_view op);
// Adds operands to an error that has none.
template <class E, class... Operands>
E with_operands(E error, const Operands&... operands) {
  (error.add_operand(operands.name, operands.tensor.kind()), ...);
  return error;
}

}  // namespace glim
