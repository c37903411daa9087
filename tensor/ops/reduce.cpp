#include "tensor/ops/reduce.hpp"

#include <cmath>

#include "tensor/ops/broadcast.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/rows.hpp"
#include "tensor/ops/wrap.hpp"

namespace glim {
namespace {

// Sum of n numbers: 8 interleaved partial sums over blocks of 1024, added in order.
template <class Acc, class T>
Acc ordered_sum(const T* p, Index n) {
  Acc total = 0;
  for (Index block = 0; block < n; block += 1024) {
    Acc part[8] = {};
    Index end = std::min(n, block + 1024), i = block;
    for (; i + 8 <= end; i += 8)
      for (int k = 0; k < 8; ++k) part[k] = wrap_add(part[k], static_cast<Acc>(p[i + k]));
    for (; i < end; ++i) part[0] = wrap_add(part[0], static_cast<Acc>(p[i]));
    for (int half = 4; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) part[k] = wrap_add(part[k], part[k + half]);
    total = wrap_add(total, part[0]);
  }
  return total;
}

constexpr Index kBlock = 65536;  // elements of one piece of a long reduction

// Sum over the leading axes of a contiguous (n, columns). Whole rows are added in order: 64 at a
// time into a part, 64 parts into a chunk, chunks into the result, so that float32 stays accurate.
template <class T, class Acc>
Tensor sum_columns(const Tensor& x, Index n, Index columns, DType out) {
  constexpr Index kWidth = 64, kPart = 64, kChunk = 4096;
  Index chunks = std::max<Index>(1, (n + kChunk - 1) / kChunk);
  Index across = (columns + kWidth - 1) / kWidth;
  Tensor sums = empty({chunks, columns}, out);
  const T* px = x.data<T>();
  Acc* ps = sums.data<Acc>();
  parallel_for(chunks * across, std::max<Index>(1, kChunk * 4 / (std::min(n, kChunk) * kWidth + 1)),
               [&](Index first, Index last) {
                 for (Index piece = first; piece < last; ++piece) {
                   Index chunk = piece / across, begin = piece % across * kWidth;
                   Index width = std::min(kWidth, columns - begin);
                   Acc total[kWidth] = {};
                   Index end = std::min(n, (chunk + 1) * kChunk);
                   for (Index block = chunk * kChunk; block < end; block += kPart) {
                     Acc part[kWidth] = {};
                     for (Index r = block; r < std::min(end, block + kPart); ++r)
                       for (Index c = 0; c < width; ++c)
                         part[c] = wrap_add(part[c], static_cast<Acc>(px[r * columns + begin + c]));
                     for (Index c = 0; c < width; ++c) total[c] = wrap_add(total[c], part[c]);
                   }
                   std::copy_n(total, width, ps + chunk * columns + begin);
                 }
               });
  for (Index chunk = 1; chunk < chunks; ++chunk)
    for (Index c = 0; c < columns; ++c) ps[c] = wrap_add(ps[c], ps[chunk * columns + c]);
  return select(sums, 0, 0);
}

template <class T>
Tensor sum_typed(const Tensor& x, const Dims& axes, bool keepdim) {
  using Acc = std::conditional_t<std::is_same_v<T, bool>, Index, T>;
  constexpr DType out = dtype_of<Acc>;
  RowPlan p = plan_rows(x, axes, keepdim, "sum");
  // Reduced axes all in front of a contiguous tensor: no transposition needed.
  Dims reduced = normalize_axes(axes, x.rank(), "sum");
  bool leading = x.is_contiguous() && p.rows > 1;
  for (int i = 0; i < reduced.rank(); ++i) leading = leading && reduced[i] == i;
  if (leading) return reshape(sum_columns<T, Acc>(x, p.n, p.rows, out), p.result);
  if (p.rows == 1 && p.n > kBlock) {  // blocks in parallel, then their sums in order
    Tensor c = p.x.contiguous();
    const T* px = c.data<T>();
    Index blocks = (p.n + kBlock - 1) / kBlock;
    Tensor parts = empty({blocks}, out);
    Acc* pp = parts.data<Acc>();
    parallel_each(blocks, [&](Index b) {
      pp[b] = ordered_sum<Acc>(px + b * kBlock, std::min(kBlock, p.n - b * kBlock));
    });
    Tensor y = empty(p.result, out);
    *y.data<Acc>() = ordered_sum<Acc>(pp, blocks);
    return y;
  }
  return reduce_rows<T, Acc>(p, out, ordered_sum<Acc, T>);
}

// Sums from one end of a row, in order, in float64; blocks of 1024 keep float64 accurate, too.
template <class T>
void running_sums(const T* x, T* y, Index n, bool reverse) {
  using Acc = std::conditional_t<std::is_integral_v<T>, T, double>;
  Acc before = 0;
  for (Index block = 0; block < n; block += 1024) {
    Acc part = 0;
    for (Index k = block; k < std::min(n, block + 1024); ++k) {
      const Index i = reverse ? n - 1 - k : k;
      part = wrap_add(part, static_cast<Acc>(x[i]));
      y[i] = static_cast<T>(wrap_add(before, part));
    }
    before = wrap_add(before, part);
  }
}

// f(row, n) of each row, n > 0.
template <class F>
Tensor extremum(const Tensor& x, const Dims& axes, bool keepdim, std::string_view op, const F& f) {
  RowPlan p = plan_rows(x, axes, keepdim, op);
  if (p.n == 0 && p.rows > 0) throw ValueError(op, "is not defined for no elements", {{"x", x}});
  return visit_dtype(x.dtype(), [&]<class T>() {
    using Y = decltype(f(static_cast<const T*>(nullptr), p.n));
    return reduce_rows<T, Y>(p, dtype_of<Y>, f);
  });
}

// The best element of a row: the first of equals, as zeros of both signs are.
constexpr auto best_by = [](auto choose) {
  return [choose]<class T>(const T* row, Index n) {
    constexpr Index kLanes = 16;  // side by side, as vectors need
    T top[kLanes];
    std::fill_n(top, kLanes, row[0]);
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (Index k = 0; k < kLanes; ++k) top[k] = choose(row[i + k], top[k]);
    for (; i < n; ++i) top[0] = choose(row[i], top[0]);
    for (T t : top) top[0] = choose(t, top[0]);
    return top[0] == T(0) ? *std::find(row, row + n, T(0)) : top[0];
  };
};
// The place of the best element of a row, the first of equals.
constexpr auto place_by = [](auto better) {
  return [better](const auto* row, Index n) {
    Index place = 0;
    for (Index i = 1; i < n; ++i)
      if (better(row[i], row[place])) place = i;
    return place;
  };
};

constexpr auto larger = [](auto a, auto b) { return a != a ? a : a > b ? a : b; };
constexpr auto smaller = [](auto a, auto b) { return a != a ? a : a < b ? a : b; };
constexpr auto above = [](auto a, auto b) { return (a > b) | ((a != a) & (b == b)); };
constexpr auto below = [](auto a, auto b) { return (a < b) | ((a != a) & (b == b)); };

}  // namespace

Tensor sum(const Tensor& x, const Dims& axes, bool keepdim) {
  return visit_dtype(x.dtype(), [&]<class T>() { return sum_typed<T>(x, axes, keepdim); });
}

Tensor mean(const Tensor& x, const Dims& axes, bool keepdim) {
  require_floating(x, "mean");
  RowPlan p = plan_rows(x, axes, keepdim, "mean");
  return div(sum(x, axes, keepdim), static_cast<double>(p.n));
}

Tensor max(const Tensor& x, const Dims& axes, bool keepdim) {
  return extremum(x, axes, keepdim, "max", best_by(larger));
}
Tensor min(const Tensor& x, const Dims& axes, bool keepdim) {
  return extremum(x, axes, keepdim, "min", best_by(smaller));
}

Tensor var(const Tensor& x, const Dims& axes, double correction, bool keepdim) {
  require_floating(x, "var");
  RowPlan p = plan_rows(x, axes, true, "var");
  Tensor centered = sub(x, mean(x, axes, true));
  double divisor = std::max(0.0, static_cast<double>(p.n) - correction);
  return div(sum(mul(centered, centered), axes, keepdim), divisor);
}

Tensor argmax(const Tensor& x, Index axis, bool keepdim) {
  return extremum(x, {axis}, keepdim, "argmax", place_by(above));
}
Tensor argmin(const Tensor& x, Index axis, bool keepdim) {
  return extremum(x, {axis}, keepdim, "argmin", place_by(below));
}

Tensor argmax(const Tensor& x) { return argmax(reshape(x, {-1}), 0); }
Tensor argmin(const Tensor& x) { return argmin(reshape(x, {-1}), 0); }

Tensor any(const Tensor& x, const Dims& axes, bool keepdim) {
  if (x.dtype() != DType::Bool) throw DTypeError("any", "needs bool", {{"x", x}});
  return greater(sum(x, axes, keepdim), 0.0);
}
Tensor all(const Tensor& x, const Dims& axes, bool keepdim) {
  return logical_not(any(logical_not(x), axes, keepdim));
}

Tensor cumsum(const Tensor& x, Index axis, bool reverse) {
  if (x.dtype() == DType::Bool) return cumsum(x.to(DType::Int64), axis, reverse);
  Tensor sums;
  visit_numeric(x, "cumsum", [&]<class T>() {
    sums = map_rows<T>(x, axis, "cumsum", [reverse](const T* row, T* y, Index n) {
      running_sums(row, y, n, reverse);
    });
  });
  return sums;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  int extra = x.rank() - shape.rank();
  Dims axes;
  bool fits = extra >= 0;
  for (int i = 0; i < x.rank() && fits; ++i) {
    if (i < extra || (shape[i - extra] == 1 && x.shape()[i] != 1))
      axes.push_back(i);
    else
      fits = shape[i - extra] == x.shape()[i];
  }
  if (!fits) throw ShapeError("sum_to", to_string(shape) + " does not broadcast to x", {{"x", x}});
  return reshape((axes.empty() ? x : sum(x, axes, true)), shape);
}

double norm(const Tensor& x) { return std::sqrt(dot(x, x)); }

double dot(const Tensor& a, const Tensor& b) {
  return sum(mul(a.to(DType::Float64), b.to(DType::Float64))).item();
}

}  // namespace glim
