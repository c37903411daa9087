#include "tensor/tensor.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/iterate.hpp"

namespace glim {

bool Tensor::is_contiguous() const {
  Index expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] == 0) return true;
    if (shape_[i] != 1 && strides_[i] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

std::string Tensor::kind() const {
  if (!defined()) return "undefined";
  return to_string(shape_) + " " + std::string(name_of(dtype_));
}

void Tensor::wrong_access(DType dtype) const {
  if (!defined()) throw StateError("data", "the tensor is undefined");
  throw DTypeError("data", "elements are read as " + std::string(name_of(dtype)), {{"x", *this}});
}

double Tensor::item() const {
  if (!defined() || numel() != 1)
    throw ShapeError("item", "need exactly one element", {{"x", *this}});
  return visit_dtype(dtype_, [&]<class T>() { return static_cast<double>(*data<T>()); });
}

Index Tensor::place_of(std::initializer_list<Index> index) const {
  if (static_cast<int>(index.size()) != rank())
    throw IndexError("at",
                     std::to_string(index.size()) + " indices for rank " + std::to_string(rank()),
                     {{"x", *this}});
  Index offset = 0;
  int axis = 0;
  for (Index i : index) {
    Index n = shape_[axis];
    if (i < -n || i >= n)
      throw IndexError("at",
                       "index " + std::to_string(i) + " on axis " + std::to_string(axis) +
                           " of extent " + std::to_string(n),
                       {{"x", *this}});
    offset += (i < 0 ? i + n : i) * strides_[axis++];
  }
  return offset;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor y = empty(shape_, dtype_);
  y.copy_(*this);
  return y;
}

Tensor Tensor::to(DType target) const {
  if (target == dtype_) return *this;
  Tensor y = empty(shape_, target);
  visit_dtype(dtype_, [&]<class From>() {
    visit_dtype(target, [&]<class To>() { map_into<To, From>(y, {this}, convert<To, From>); });
  });
  return y;
}

void Tensor::copy_(const Tensor& source, const Where& where) const {
  if (dtype_ != source.dtype_)
    throw DTypeError("copy_", "dtypes differ", {{"to", *this}, {"from", source}});
  require_writable(*this, "copy_");
  Tensor values = source_for(*this, source, "copy_");
  storage_.written(where);
  visit_dtype(dtype_, [&]<class T>() { map_into<T, T>(*this, {&values}, [](T v) { return v; }); });
}

void Tensor::fill_(double value, const Where& where) const {
  require_writable(*this, "fill_");
  storage_.written(where);
  visit_dtype(dtype_, [&]<class T>() {
    T v = convert<T>(value);
    T* p = data<T>();  // written, never read: what a new tensor holds may be no bool at all
    Loop loop(shape_, {&strides_});
    Index step = loop.step(0);
    loop.runs([&](Index n, const Index* offsets) {
      for (Index i = 0; i < n; ++i) p[offsets[0] + i * step] = v;
    });
  });
}

Tensor Tensor::read_only() const {
  if (!storage_ || storage_.read_only()) return *this;
  Tensor y = *this;
  y.storage_ =
      Storage::over(storage_.data(), storage_.bytes(), std::make_shared<Storage>(storage_), true);
  return y;
}

void require_writable(const Tensor& x, std::string_view op) {
  if (x.storage().read_only())
    throw ValueError(op, "the memory is read-only; clone() the tensor to write to it", {{"to", x}});
  for (int i = 0; i < x.rank(); ++i)
    if (x.shape()[i] > 1 && x.strides()[i] == 0 && x.numel() > 0)
      throw ValueError(op, "several positions share one element", {{"to", x}});
}

namespace {
// The first and the last element that x reaches, counted from the start of its storage.
std::pair<Index, Index> span_of(const Tensor& x) {
  Index low = x.offset(), high = x.offset();
  for (int i = 0; i < x.rank(); ++i) {
    Index reach = (x.shape()[i] - 1) * x.strides()[i];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}
}  // namespace

Tensor source_for(const Tensor& target, const Tensor& source, std::string_view op) {
  Tensor result = source;
  if (source.shape() != target.shape()) {
    try {
      result = broadcast_to(source, target.shape());
    } catch (const ShapeError&) {
      throw ShapeError(op, "the source does not broadcast to " + to_string(target.shape()),
                       {{"to", target}, {"from", source}});
    }
  }
  if (!(result.storage() == target.storage()) || result.numel() == 0) return result;
  if (result.offset() == target.offset() && result.strides() == target.strides()) return result;
  auto [low, high] = span_of(result);
  auto [first, last] = span_of(target);
  return high < first || last < low ? result : result.clone();
}

Tensor empty(const Shape& shape, DType dtype) {
  Tensor t;
  t.storage_ = Storage(checked_numel(shape, "empty") * size_of(dtype));
  t.shape_ = shape;
  t.strides_ = contiguous_strides(shape);
  t.dtype_ = dtype;
  return t;
}

Tensor Tensor::from_storage(Storage storage, Index offset, const Shape& shape,
                            const Strides& strides, DType dtype) {
  if (!storage) throw StateError("from_storage", "the storage is undefined");
  Index n = checked_numel(shape, "from_storage");
  Index low = offset, high = offset;
  bool overflow = shape.rank() != strides.rank();
  for (int i = 0; i < shape.rank() && n > 0 && !overflow; ++i) {
    Index reach = 0;
    overflow = __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    Index& end = reach < 0 ? low : high;
    overflow = overflow || __builtin_add_overflow(end, reach, &end);
  }
  auto extent = static_cast<Index>(storage.bytes() / size_of(dtype));
  if (overflow || low < 0 || (n > 0 && high >= extent))
    throw ShapeError("from_storage", "shape " + to_string(shape) + " with strides " +
                                         to_string(strides) + " reaches outside the storage");
  Tensor t;
  t.storage_ = std::move(storage);
  // Where there are no elements, nothing said how large an offset and strides may be.
  t.offset_ = n > 0 ? offset : 0;
  t.shape_ = shape;
  t.strides_ = n > 0 ? strides : contiguous_strides(shape);
  t.dtype_ = dtype;
  return t;
}

Tensor full(const Shape& shape, double value, DType dtype) {
  Tensor t = empty(shape, dtype);
  t.fill_(value);
  return t;
}
Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor arange(double start, double stop, double step, DType dtype) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    throw ValueError("arange", "need finite bounds and a step other than 0");
  double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > 9e18) throw ShapeError("arange", "too many elements");
  auto holds = [](double v) { return v >= -0x1p63 && v < 0x1p63; };
  if (dtype == DType::Int64 && count > 0 && !(holds(start) && holds(start + (count - 1) * step)))
    throw ValueError("arange", "int64 holds no number beyond 2^63");
  Tensor t = empty({static_cast<Index>(count)}, dtype);
  visit_dtype(dtype, [&]<class T>() {
    T* p = t.data<T>();
    for (Index i = 0; i < t.numel(); ++i) p[i] = convert<T>(start + static_cast<double>(i) * step);
  });
  return t;
}

Tensor eye(Index n, DType dtype) {
  Tensor t = zeros({n, n}, dtype);
  visit_dtype(dtype, [&]<class T>() {
    T* p = t.data<T>();
    for (Index i = 0; i < n; ++i) p[i * n + i] = T(1);
  });
  return t;
}

Tensor tensor(std::initializer_list<double> values, DType dtype) {
  return tensor(values, Shape{static_cast<Index>(values.size())}, dtype);
}
Tensor tensor(std::initializer_list<double> values, const Shape& shape, DType dtype) {
  return from_vector(std::vector<double>(values), shape).to(dtype);
}

void require_floating(const Tensor& x, std::string_view op) {
  if (!is_floating(x.dtype())) throw DTypeError(op, "needs float32 or float64", {{"x", x}});
}

}  // namespace glim
