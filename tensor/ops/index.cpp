#include "tensor/ops/index.hpp"

#include <algorithm>
#include <array>

#include "tensor/error.hpp"
#include "tensor/ops/broadcast.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/wrap.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

void require_index(const Tensor& index, std::string_view op, std::string_view what = "index") {
  if (index.dtype() != DType::Int64)
    throw DTypeError(op, "the " + std::string(what) + " needs int64", {{what, index}});
}

// A contiguous tensor as (outer, extent, inner) around one axis.
struct Around {
  Index outer = 1, extent, inner = 1;
  Around(const Shape& s, int axis) : extent(s[axis]) {
    for (int i = 0; i < axis; ++i) outer *= s[i];
    for (int i = axis + 1; i < s.rank(); ++i) inner *= s[i];
  }
};

// x's shape with the index's in place of the axis.
Shape selected_shape(const Shape& x, int axis, const Shape& index) {
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x[i]);
  for (Index e : index) shape.push_back(e);
  for (int i = axis + 1; i < x.rank(); ++i) shape.push_back(x[i]);
  return shape;
}

// Off the axis the index may be smaller than x. It then reads x's first positions.
void require_fits(const Tensor& x, int a, const Tensor& index, std::string_view op) {
  bool fits = index.rank() == x.rank();
  for (int i = 0; i < x.rank() && fits; ++i) fits = i == a || index.shape()[i] <= x.shape()[i];
  if (!fits)
    throw ShapeError(op, "index must have x's rank and be within x off axis " + std::to_string(a),
                     {{"x", x}, {"index", index}});
}

// Calls f(p, base) for the row-major positions p of `index`: base is the offset of the same
// position in a tensor with strides `x`, with 0 on the axis.
template <class F>
void for_positions(const Shape& index, const Strides& x, int axis, const F& f) {
  Index n = numel_of(index), base = 0;
  std::array<Index, kMaxRank> counter{};
  for (Index p = 0; p < n; ++p) {
    f(p, base);
    for (int i = index.rank() - 1; i >= 0; --i) {
      Index& c = counter[i];
      Index step = i == axis ? 0 : x[i];
      if (++c < index[i]) {
        base += step;
        break;
      }
      base -= (c - 1) * step;
      c = 0;
    }
  }
}

}  // namespace

void require_indices(std::string_view op, const Tensor& index, Index extent,
                     std::string_view what) {
  require_index(index, op, what);
  const Tensor indices = index.contiguous();
  const Index* p = indices.data<Index>();
  for (Index i = 0; i < indices.numel(); ++i)
    if (p[i] < 0 || p[i] >= extent)
      throw IndexError(op,
                       std::string(what) + " " + std::to_string(p[i]) + " at position " +
                           std::to_string(i) + " is outside [0, " + std::to_string(extent) + ")",
                       {{what, index}});
}

Tensor gather(const Tensor& x, Index axis, const Tensor& index) {
  int a = normalize_axis(axis, x.rank(), "gather");
  require_index(index, "gather");
  require_fits(x, a, index, "gather");
  Tensor indices = index.contiguous();
  require_indices("gather", indices, x.shape()[a]);
  Tensor y = empty(index.shape(), x.dtype());
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = x.data<T>();
    const Index* pi = indices.data<Index>();
    T* py = y.data<T>();
    for_positions(index.shape(), x.strides(), a, [&, step = x.strides()[a]](Index p, Index base) {
      py[p] = px[base + pi[p] * step];
    });
  });
  return y;
}

Tensor scatter_add(const Tensor& x, Index axis, const Tensor& index, const Tensor& source) {
  int a = normalize_axis(axis, x.rank(), "scatter_add");
  require_index(index, "scatter_add");
  require_fits(x, a, index, "scatter_add");
  if (source.shape() != index.shape() || source.dtype() != x.dtype())
    throw ShapeError("scatter_add", "source must have index's shape and x's dtype",
                     {{"x", x}, {"index", index}, {"source", source}});
  Tensor indices = index.contiguous(), values = source.contiguous(), y = x.clone();
  require_indices("scatter_add", indices, x.shape()[a]);
  visit_numeric(x, "scatter_add", [&]<class T>() {
    const T* ps = values.data<T>();
    const Index* pi = indices.data<Index>();
    T* py = y.data<T>();
    for_positions(index.shape(), y.strides(), a, [&, step = y.strides()[a]](Index p, Index base) {
      T& sum = py[base + pi[p] * step];
      sum = wrap_add(sum, ps[p]);
    });
  });
  return y;
}

Tensor index_select(const Tensor& x, Index axis, const Tensor& index) {
  int a = normalize_axis(axis, x.rank(), "index_select");
  require_index(index, "index_select");
  Tensor values = x.contiguous(), indices = index.contiguous();
  require_indices("index_select", indices, x.shape()[a]);
  Tensor y = empty(selected_shape(x.shape(), a, index.shape()), x.dtype());
  Around ax(x.shape(), a);
  Index n = index.numel();
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = values.data<T>();
    const Index* pi = indices.data<Index>();
    T* py = y.data<T>();
    parallel_for(ax.outer * n, std::max<Index>(1, 8192 / std::max<Index>(1, ax.inner)),
                 [&](Index begin, Index end) {
                   for (Index r = begin, outer = begin / n, i = begin % n; r < end; ++r, ++i) {
                     if (i == n) ++outer, i = 0;
                     const T* row = px + (outer * ax.extent + pi[i]) * ax.inner;
                     if (ax.inner == 1)
                       py[r] = *row;
                     else
                       std::copy_n(row, ax.inner, py + r * ax.inner);
                   }
                 });
  });
  return y;
}

Tensor index_add(const Shape& shape, Index axis, const Tensor& index, const Tensor& source) {
  Tensor y = zeros(shape, source.dtype());
  index_add_(y, axis, index, source);
  return y;
}

void index_add_(const Tensor& y, Index axis, const Tensor& index, const Tensor& source,
                const Where& where) {
  const Shape& shape = y.shape();
  int a = normalize_axis(axis, shape.rank(), "index_add");
  if (!y.is_contiguous() || y.dtype() != source.dtype())
    throw ShapeError("index_add", "needs a contiguous y of source's dtype",
                     {{"y", y}, {"source", source}});
  require_index(index, "index_add");
  if (source.shape() != selected_shape(shape, a, index.shape()))
    throw ShapeError("index_add", "source does not fit " + to_string(shape),
                     {{"index", index}, {"source", source}});
  Tensor indices = index.contiguous(), values = source.contiguous();
  require_indices("index_add", indices, shape[a]);
  y.storage().written(where);
  Around ay(shape, a);
  Index n = index.numel();
  visit_numeric(source, "index_add", [&]<class T>() {
    const T* ps = values.data<T>();
    const Index* pi = indices.data<Index>();
    T* py = y.data<T>();
    // Threads share the columns, so that every row receives its terms in order of position.
    parallel_for(ay.inner, 64, [&](Index begin, Index end) {
      const T* term = ps;
      for (Index outer = 0; outer < ay.outer; ++outer)
        for (Index k = 0; k < n; ++k, term += ay.inner) {
          T* row = py + (outer * ay.extent + pi[k]) * ay.inner;
          for (Index i = begin; i < end; ++i) row[i] = wrap_add(row[i], term[i]);
        }
    });
  });
}

std::vector<Tensor> nonzero(const Tensor& mask) {
  if (mask.dtype() != DType::Bool) throw DTypeError("nonzero", "needs bool", {{"mask", mask}});
  const Tensor in = mask.contiguous();
  const bool* p = in.data<bool>();
  std::vector<std::vector<Index>> places(static_cast<std::size_t>(mask.rank()));
  for (Index i = 0; i < mask.numel(); ++i) {
    Index rest = p[i] ? i : -1;
    for (int axis = mask.rank(); rest >= 0 && axis-- > 0; rest /= mask.shape()[axis])
      places[static_cast<std::size_t>(axis)].push_back(rest % mask.shape()[axis]);
  }
  std::vector<Tensor> index;
  for (const std::vector<Index>& axis : places)
    index.push_back(from_vector(axis, {static_cast<Index>(axis.size())}));
  return index;
}

Tensor ravel_index(const std::vector<Tensor>& index, const Shape& extents) {
  Tensor all = scalar(0, DType::Int64);
  for (int k = 0; k < extents.rank(); ++k) {
    const Tensor& array = index[static_cast<std::size_t>(k)];
    const double n = static_cast<double>(extents[k]);
    require_index(array, "index");
    const Tensor from_start = where(less(array, 0), add(array, n), array).contiguous();
    require_indices("index", from_start, extents[k]);
    all = add(mul(all, n), from_start);
  }
  return all;
}

Tensor concatenate(const std::vector<Tensor>& parts, Index axis) {
  if (parts.empty()) throw ValueError("concatenate", "needs at least one tensor");
  const Tensor& first = parts[0];
  int a = normalize_axis(axis, first.rank(), "concatenate");
  Shape shape = first.shape();
  shape[a] = 0;
  for (const Tensor& p : parts) {
    if (p.dtype() != first.dtype())
      throw DTypeError("concatenate", "dtypes differ", {{"first", first}, {"part", p}});
    bool fits = p.rank() == first.rank();
    for (int i = 0; i < first.rank() && fits; ++i)
      fits = i == a || p.shape()[i] == first.shape()[i];
    if (!fits)
      throw ShapeError("concatenate", "parts differ off axis " + std::to_string(a),
                       {{"first", first}, {"part", p}});
    if (__builtin_add_overflow(shape[a], p.shape()[a], &shape[a]))
      throw ShapeError("concatenate", "the parts add up to more than int64 can count",
                       {{"first", first}, {"part", p}});
  }
  Tensor y = empty(shape, first.dtype());
  Index start = 0;
  for (const Tensor& p : parts) {
    narrow(y, a, start, p.shape()[a]).copy_(p);
    start += p.shape()[a];
  }
  return y;
}

Tensor stack(const std::vector<Tensor>& parts, Index axis) {
  if (parts.empty()) throw ValueError("stack", "needs at least one tensor");
  int a = normalize_axis(axis, parts[0].rank() + 1, "stack");
  std::vector<Tensor> rows;
  for (const Tensor& p : parts) {
    if (p.shape() != parts[0].shape())
      throw ShapeError("stack", "shapes differ", {{"first", parts[0]}, {"part", p}});
    rows.push_back(unsqueeze(p, a));
  }
  return concatenate(rows, a);
}

std::vector<Tensor> split(const Tensor& x, Index axis, const std::vector<Index>& lengths) {
  int a = normalize_axis(axis, x.rank(), "split");
  Index total = 0;
  for (Index n : lengths)
    if (n < 0 || __builtin_add_overflow(total, n, &total))
      throw ValueError(
          "split", "lengths must be at least 0 and add up within int64, got " + std::to_string(n));
  if (total != x.shape()[a])
    throw ShapeError("split",
                     "lengths add up to " + std::to_string(total) + ", axis " + std::to_string(a) +
                         " has " + std::to_string(x.shape()[a]),
                     {{"x", x}});
  std::vector<Tensor> parts;
  Index start = 0;
  for (Index n : lengths) {
    parts.push_back(narrow(x, a, start, n));
    start += n;
  }
  return parts;
}

namespace {
Tensor triangle(const Tensor& x, Index diagonal, bool lower, std::string_view op) {
  if (x.rank() < 2) throw ShapeError(op, "needs rank 2 or more", {{"x", x}});
  Index rows = x.size(-2), columns = x.size(-1);
  Tensor keep = empty({rows, columns}, DType::Bool);
  bool* p = keep.data<bool>();
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j)
      p[i * columns + j] = lower ? j - i <= diagonal : j - i >= diagonal;
  return where(keep, x, scalar(0, x.dtype()));
}
}  // namespace

Tensor tril(const Tensor& x, Index diagonal) { return triangle(x, diagonal, true, "tril"); }
Tensor triu(const Tensor& x, Index diagonal) { return triangle(x, diagonal, false, "triu"); }

Tensor one_hot(const Tensor& index, Index classes, DType dtype) {
  require_index(index, "one_hot");
  Tensor indices = index.contiguous();
  require_indices("one_hot", indices, classes);
  Shape shape = index.shape();
  shape.push_back(classes);
  Tensor y = zeros(shape, dtype);
  visit_dtype(dtype, [&]<class T>() {
    T* py = y.data<T>();
    const Index* pi = indices.data<Index>();
    for (Index i = 0; i < indices.numel(); ++i) py[i * classes + pi[i]] = T(1);
  });
  return y;
}

}  // namespace glim
