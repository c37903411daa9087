#include "tensor/index.hpp"

#include <algorithm>
#include <numeric>

#include "tensor/elementwise.hpp"
#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

void require_index(const Tensor& index, std::string_view op) {
  if (index.dtype() != DType::Int64)
    throw with_operands(DTypeError(op, "the index needs int64"), Operand("index", index));
}

// IndexError unless every position lies in [0, extent).
void require_range(const Tensor& index, Index extent, std::string_view op) {
  const Index* p = index.data<Index>();
  for (Index i = 0; i < index.numel(); ++i)
    if (p[i] < 0 || p[i] >= extent)
      throw with_operands(
          IndexError(op, "index " + std::to_string(p[i]) + " at position " + std::to_string(i) +
                             " is outside [0, " + std::to_string(extent) + ")"),
          Operand("index", index));
}

// A contiguous tensor as (outer, extent, inner) around one axis.
struct Around {
  Index outer = 1, extent, inner = 1;
  Around(const Shape& s, int axis) : extent(s[axis]) {
    for (int i = 0; i < axis; ++i) outer *= s[i];
    for (int i = axis + 1; i < s.rank(); ++i) inner *= s[i];
  }
};

void require_fits(const Tensor& x, int a, const Tensor& index, std::string_view op) {
  bool fits = index.rank() == x.rank();
  for (int i = 0; i < x.rank() && fits; ++i) fits = i == a || index.shape()[i] == x.shape()[i];
  if (!fits)
    throw with_operands(ShapeError(op, "index must have x's extents off axis " + std::to_string(a)),
                        Operand("x", x), Operand("index", index));
}

}  // namespace

Tensor gather(const Tensor& x, Index axis, const Tensor& index) {
  int a = normalize_axis(axis, x.rank(), "gather");
  require_index(index, "gather");
  require_fits(x, a, index, "gather");
  Tensor from = x.contiguous(), at = index.contiguous();
  require_range(at, x.shape()[a], "gather");
  Tensor y = empty(index.shape(), x.dtype());
  Around ax(x.shape(), a), ai(index.shape(), a);
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = from.data<T>();
    const Index* pi = at.data<Index>();
    T* py = y.data<T>();
    for (Index o = 0; o < ai.outer; ++o)
      for (Index j = 0; j < ai.extent; ++j)
        for (Index i = 0; i < ai.inner; ++i) {
          Index p = (o * ai.extent + j) * ai.inner + i;
          py[p] = px[(o * ax.extent + pi[p]) * ax.inner + i];
        }
  });
  return y;
}

Tensor scatter_add(const Tensor& x, Index axis, const Tensor& index, const Tensor& source) {
  int a = normalize_axis(axis, x.rank(), "scatter_add");
  require_index(index, "scatter_add");
  require_fits(x, a, index, "scatter_add");
  if (source.shape() != index.shape() || source.dtype() != x.dtype())
    throw with_operands(ShapeError("scatter_add", "source must have index's shape and x's dtype"),
                        Operand("x", x), Operand("index", index), Operand("source", source));
  Tensor at = index.contiguous(), from = source.contiguous();
  require_range(at, x.shape()[a], "scatter_add");
  Tensor y = empty(x.shape(), x.dtype());
  y.copy_(x);
  Around ax(x.shape(), a), ai(index.shape(), a);
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      throw with_operands(DTypeError("scatter_add", "is not defined for bool"), Operand("x", x));
    } else {
      const T* ps = from.data<T>();
      const Index* pi = at.data<Index>();
      T* py = y.data<T>();
      for (Index o = 0; o < ai.outer; ++o)
        for (Index j = 0; j < ai.extent; ++j)
          for (Index i = 0; i < ai.inner; ++i) {
            Index p = (o * ai.extent + j) * ai.inner + i;
            py[(o * ax.extent + pi[p]) * ax.inner + i] += ps[p];
          }
    }
  });
  return y;
}

Tensor index_select(const Tensor& x, Index axis, const Tensor& index) {
  int a = normalize_axis(axis, x.rank(), "index_select");
  require_index(index, "index_select");
  Tensor from = x.contiguous(), at = index.contiguous();
  require_range(at, x.shape()[a], "index_select");
  Shape shape;
  for (int i = 0; i < a; ++i) shape.push_back(x.shape()[i]);
  for (Index e : index.shape()) shape.push_back(e);
  for (int i = a + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  Tensor y = empty(shape, x.dtype());
  Around ax(x.shape(), a);
  Index n = index.numel();
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = from.data<T>();
    const Index* pi = at.data<Index>();
    T* py = y.data<T>();
    parallel_for(ax.outer * n, std::max<Index>(1, 8192 / std::max<Index>(1, ax.inner)),
                 [&](Index begin, Index end) {
                   for (Index r = begin; r < end; ++r)
                     std::copy_n(px + (r / n * ax.extent + pi[r % n]) * ax.inner, ax.inner,
                                 py + r * ax.inner);
                 });
  });
  return y;
}

Tensor index_add(const Shape& shape, Index axis, const Tensor& index, const Tensor& source) {
  int a = normalize_axis(axis, shape.rank(), "index_add");
  require_index(index, "index_add");
  Tensor at = index.contiguous(), from = source.contiguous();
  require_range(at, shape[a], "index_add");
  Around ay(shape, a);
  Index n = index.numel();
  if (source.numel() != ay.outer * n * ay.inner)
    throw with_operands(ShapeError("index_add", "source does not fit " + to_string(shape)),
                        Operand("index", index), Operand("source", source));
  Tensor y = zeros(shape, source.dtype());
  visit_dtype(source.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      throw with_operands(DTypeError("index_add", "is not defined for bool"),
                          Operand("source", source));
    } else {
      const T* ps = from.data<T>();
      const Index* pi = at.data<Index>();
      T* py = y.data<T>();
      // Threads share the columns, so that every row receives its terms in order of position.
      parallel_for(ay.inner, 64, [&](Index begin, Index end) {
        for (Index r = 0; r < ay.outer * n; ++r) {
          T* row = py + (r / n * ay.extent + pi[r % n]) * ay.inner;
          const T* term = ps + r * ay.inner;
          for (Index i = begin; i < end; ++i) row[i] += term[i];
        }
      });
    }
  });
  return y;
}

Tensor concatenate(const std::vector<Tensor>& parts, Index axis) {
  if (parts.empty()) throw ValueError("concatenate", "needs at least one tensor");
  const Tensor& first = parts[0];
  int a = normalize_axis(axis, first.rank(), "concatenate");
  Shape shape = first.shape();
  shape[a] = 0;
  for (const Tensor& p : parts) {
    bool fits = p.rank() == first.rank() && p.dtype() == first.dtype();
    for (int i = 0; i < first.rank() && fits; ++i)
      fits = i == a || p.shape()[i] == first.shape()[i];
    if (!fits)
      throw with_operands(
          ShapeError("concatenate", "parts differ off axis " + std::to_string(a) + " or in dtype"),
          Operand("first", first), Operand("part", p));
    shape[a] += p.shape()[a];
  }
  Tensor y = empty(shape, first.dtype());
  Index start = 0;
  for (const Tensor& p : parts) {
    y.narrow(a, start, p.shape()[a]).copy_(p);
    start += p.shape()[a];
  }
  return y;
}

Tensor stack(const std::vector<Tensor>& parts, Index axis) {
  if (parts.empty()) throw ValueError("stack", "needs at least one tensor");
  std::vector<Tensor> rows;
  for (const Tensor& p : parts) {
    if (p.shape() != parts[0].shape())
      throw with_operands(ShapeError("stack", "shapes differ"), Operand("first", parts[0]),
                          Operand("part", p));
    rows.push_back(p.unsqueeze(axis));
  }
  return concatenate(rows, normalize_axis(axis, parts[0].rank() + 1, "stack"));
}

std::vector<Tensor> split(const Tensor& x, Index axis, const std::vector<Index>& lengths) {
  int a = normalize_axis(axis, x.rank(), "split");
  Index total = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  if (total != x.shape()[a])
    throw with_operands(
        ShapeError("split", "lengths add up to " + std::to_string(total) + ", axis " +
                                std::to_string(a) + " has " + std::to_string(x.shape()[a])),
        Operand("x", x));
  std::vector<Tensor> parts;
  Index start = 0;
  for (Index n : lengths) {
    parts.push_back(x.narrow(a, start, n));
    start += n;
  }
  return parts;
}

namespace {
Tensor triangle(const Tensor& x, Index diagonal, bool lower, std::string_view op) {
  if (x.rank() < 2) throw with_operands(ShapeError(op, "needs rank 2 or more"), Operand("x", x));
  Tensor row = arange(0, static_cast<double>(x.size(-2))).unsqueeze(1);
  Tensor column = arange(0, static_cast<double>(x.size(-1)));
  Tensor distance = sub(column, row);  // column - row
  Tensor keep = lower ? less(distance, static_cast<double>(diagonal) + 1)
                      : greater(distance, static_cast<double>(diagonal) - 1);
  return where(keep, x, scalar(0, x.dtype()));
}
}  // namespace

Tensor tril(const Tensor& x, Index diagonal) { return triangle(x, diagonal, true, "tril"); }
Tensor triu(const Tensor& x, Index diagonal) { return triangle(x, diagonal, false, "triu"); }

Tensor one_hot(const Tensor& index, Index classes, DType dtype) {
  require_index(index, "one_hot");
  Tensor at = index.contiguous();
  require_range(at, classes, "one_hot");
  Shape shape = index.shape();
  shape.push_back(classes);
  Tensor y = zeros(shape, dtype);
  visit_dtype(dtype, [&]<class T>() {
    T* py = y.data<T>();
    const Index* pi = at.data<Index>();
    for (Index i = 0; i < at.numel(); ++i) py[i * classes + pi[i]] = T(1);
  });
  return y;
}

namespace {
// The first k of the order along the axis.
Ordered order(const Tensor& x, Index axis, bool descending, Index k, std::string_view op) {
  int a = normalize_axis(axis, x.rank(), op);
  Tensor in = x.transpose(a, -1).contiguous();
  Index n = in.shape().back(), rows = n ? in.numel() / n : 0;
  Shape shape = in.shape();
  shape[shape.rank() - 1] = k;
  Tensor values = empty(shape, x.dtype()), indices = empty(shape, DType::Int64);
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = in.data<T>();
    T* pv = values.data<T>();
    Index* pi = indices.data<Index>();
    parallel_for(rows, std::max<Index>(1, 4096 / std::max<Index>(1, n)), [&](Index b, Index e) {
      std::vector<Index> at(static_cast<std::size_t>(n));
      for (Index r = b; r < e; ++r) {
        const T* row = px + r * n;
        std::iota(at.begin(), at.end(), Index{0});
        auto before = [&](Index i, Index j) {  // NaN is largest; equal elements keep their order
          T u = row[i], v = row[j];
          if (descending) std::swap(u, v);
          bool nan_u = u != u, nan_v = v != v;
          if (nan_u != nan_v) return nan_v;
          if (!nan_u && u != v) return u < v;
          return i < j;
        };
        std::partial_sort(at.begin(), at.begin() + k, at.end(), before);
        for (Index j = 0; j < k; ++j) {
          pi[r * k + j] = at[static_cast<std::size_t>(j)];
          pv[r * k + j] = row[pi[r * k + j]];
        }
      }
    });
  });
  return {values.transpose(a, -1), indices.transpose(a, -1)};
}
}  // namespace

Ordered sort(const Tensor& x, Index axis, bool descending) {
  return order(x, axis, descending, x.size(axis), "sort");
}

Ordered top_k(const Tensor& x, Index k, Index axis) {
  Index n = x.size(axis);
  if (k < 0 || k > n)
    throw with_operands(
        ValueError("top_k", "k = " + std::to_string(k) + " of " + std::to_string(n) + " elements"),
        Operand("x", x));
  return order(x, axis, true, k, "top_k");
}

}  // namespace glim
