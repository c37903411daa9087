#include "tensor/reduce.hpp"

#include <cmath>
#include <limits>

#include "tensor/elementwise.hpp"
#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

// x with the reduced axes moved last and merged, as (rows, n), and where the result goes.
struct Plan {
  Tensor x;      // (rows..., reduced...) permuted view
  Shape kept;    // result shape without reduced axes
  Shape result;  // with or without them, as asked
  Index rows, n;
};

Plan plan(const Tensor& x, const Dims& axes, bool keepdim, std::string_view op) {
  Dims reduced;
  try {
    reduced = normalize_axes(axes, x.rank(), op);
  } catch (IndexError& e) {
    throw with_operands(std::move(e), Operand("x", x));
  }
  Plan p;
  Dims order;
  Index n = 1;
  int r = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (r < reduced.rank() && reduced[r] == i) {
      ++r;
      if (keepdim) p.result.push_back(1);
      n *= x.shape()[i];
    } else {
      order.push_back(i);
      p.kept.push_back(x.shape()[i]);
      p.result.push_back(x.shape()[i]);
    }
  }
  for (Index a : reduced) order.push_back(a);
  p.x = x.permute(order);
  p.n = n;
  p.rows = numel_of(p.kept);
  return p;
}

// Sum of n evenly spaced numbers: 8 interleaved partial sums over blocks of 1024, added in order.
template <class Acc, class T, class F>
Acc ordered_sum(const T* p, Index n, Index stride, const F& f) {
  Acc total = 0;
  for (Index block = 0; block < n; block += 1024) {
    Acc part[8] = {};
    Index end = std::min(n, block + 1024), i = block;
    if (stride == 1)
      for (; i + 8 <= end; i += 8)
        for (int k = 0; k < 8; ++k) part[k] += f(p[i + k]);
    else
      for (; i + 8 <= end; i += 8)
        for (int k = 0; k < 8; ++k) part[k] += f(p[(i + k) * stride]);
    for (; i < end; ++i) part[0] += f(p[i * stride]);
    total +=
        ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
  }
  return total;
}

constexpr Index kBlock = 65536;  // elements of one piece of a long reduction

// y[row] = reduce(pointer, n) for rows of a contiguous (rows, n) tensor.
template <class T, class Y, class F>
Tensor reduce_rows(const Plan& p, DType out, const F& f) {
  Tensor y = empty(p.kept, out);
  Tensor x = p.x.contiguous();
  const T* px = x.data<T>();
  Y* py = y.data<Y>();
  parallel_for(p.rows, std::max<Index>(1, 16384 / std::max<Index>(p.n, 1)),
               [&](Index begin, Index end) {
                 for (Index r = begin; r < end; ++r) py[r] = f(px + r * p.n, p.n);
               });
  return y.reshape(p.result);
}

// Sum over leading axes of a contiguous (n, columns): adds whole rows, in order, column-parallel.
template <class T, class Acc>
Tensor sum_columns(const Tensor& x, Index n, Index columns, DType out) {
  Tensor y = empty({columns}, out);
  const T* px = x.data<T>();
  auto* py = y.data<Acc>();
  parallel_for(columns, 64, [&](Index begin, Index end) {
    for (Index c = begin; c < end; ++c) py[c] = 0;
    for (Index block = 0; block < n; block += 64) {  // partial sums keep float32 accurate
      Acc part[64] = {};
      for (Index r = block; r < std::min(n, block + 64); ++r)
        for (Index c = begin; c < end; ++c)
          part[c - begin] += static_cast<Acc>(px[r * columns + c]);
      for (Index c = begin; c < end; ++c) py[c] += part[c - begin];
    }
  });
  return y;
}

template <class T>
Tensor sum_typed(const Tensor& x, const Dims& axes, bool keepdim) {
  using Acc = std::conditional_t<std::is_same_v<T, bool>, Index, T>;
  constexpr DType out = dtype_of<Acc>;
  Plan p = plan(x, axes, keepdim, "sum");
  // Reduced axes all in front of a contiguous tensor: no transposition needed.
  Dims reduced = normalize_axes(axes, x.rank(), "sum");
  bool leading = x.is_contiguous() && p.rows > 1;
  for (int i = 0; i < reduced.rank(); ++i) leading = leading && reduced[i] == i;
  if (leading) return sum_columns<T, Acc>(x, p.n, p.rows, out).reshape(p.result);
  auto value = [](T v) { return static_cast<Acc>(v); };
  if (p.rows == 1 && p.n > kBlock) {  // blocks in parallel, then their sums in order
    Tensor c = p.x.contiguous();
    const T* px = c.data<T>();
    Index blocks = (p.n + kBlock - 1) / kBlock;
    Tensor parts = empty({blocks}, out);
    Acc* pp = parts.data<Acc>();
    parallel_each(blocks, [&](Index b) {
      pp[b] = ordered_sum<Acc>(px + b * kBlock, std::min(kBlock, p.n - b * kBlock), 1, value);
    });
    Tensor y = empty(p.result, out);
    *y.data<Acc>() = ordered_sum<Acc>(pp, blocks, 1, [](Acc v) { return v; });
    return y;
  }
  return reduce_rows<T, Acc>(
      p, out, [&](const T* row, Index n) { return ordered_sum<Acc>(row, n, 1, value); });
}

template <class Better>
Tensor extremum(const Tensor& x, const Dims& axes, bool keepdim, std::string_view op,
                const Better& better) {
  Plan p = plan(x, axes, keepdim, op);
  if (p.n == 0 && p.rows > 0)
    throw with_operands(ValueError(op, "of no elements is not defined"), Operand("x", x));
  return visit_dtype(x.dtype(), [&]<class T>() {
    return reduce_rows<T, T>(p, x.dtype(), [&](const T* row, Index n) {
      T best = row[0];
      for (Index i = 1; i < n; ++i)
        if (better(row[i], best)) best = row[i];
      return best;
    });
  });
}

template <class Better>
Tensor arg_extremum(const Tensor& x, Index axis, bool keepdim, std::string_view op,
                    const Better& better) {
  Plan p = plan(x, {axis}, keepdim, op);
  if (p.n == 0 && p.rows > 0)
    throw with_operands(ValueError(op, "of no elements is not defined"), Operand("x", x));
  return visit_dtype(x.dtype(), [&]<class T>() {
    return reduce_rows<T, Index>(p, DType::Int64, [&](const T* row, Index n) {
      Index best = 0;
      for (Index i = 1; i < n; ++i)
        if (better(row[i], row[best])) best = i;
      return best;
    });
  });
}

constexpr auto above = [](auto a, auto b) { return a > b || (a != a && b == b); };
constexpr auto below = [](auto a, auto b) { return a < b || (a != a && b == b); };

template <class F>
Tensor over_floats(const Tensor& x, std::string_view op, const F& f) {
  require_floating(x, op);
  return x.dtype() == DType::Float32 ? f.template operator()<float>()
                                     : f.template operator()<double>();
}

// y = f(row) for every row along `axis`, keeping the shape.
template <class T, class F>
Tensor map_rows(const Tensor& x, Index axis, std::string_view op, const F& f) {
  int a = normalize_axis(axis, x.rank(), op);
  bool last = a == x.rank() - 1;
  Tensor in = (last ? x : x.transpose(a, -1)).contiguous();
  Tensor y = empty(in.shape(), x.dtype());
  Index n = in.shape().back(), rows = n ? in.numel() / n : 0;
  const T* px = in.data<T>();
  T* py = y.data<T>();
  parallel_for(rows, std::max<Index>(1, 8192 / std::max<Index>(n, 1)), [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) f(px + r * n, py + r * n, n);
  });
  return last ? y : y.transpose(a, -1);
}

template <class T>
T max_of(const T* row, Index n) {
  T m = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < n; ++i) m = row[i] > m || row[i] != row[i] ? row[i] : m;
  return m;
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& axes, bool keepdim) {
  return visit_dtype(x.dtype(), [&]<class T>() { return sum_typed<T>(x, axes, keepdim); });
}

Tensor mean(const Tensor& x, const Dims& axes, bool keepdim) {
  require_floating(x, "mean");
  Plan p = plan(x, axes, keepdim, "mean");
  return mul(sum(x, axes, keepdim), 1.0 / static_cast<double>(p.n));
}

Tensor max(const Tensor& x, const Dims& axes, bool keepdim) {
  return extremum(x, axes, keepdim, "max", above);
}
Tensor min(const Tensor& x, const Dims& axes, bool keepdim) {
  return extremum(x, axes, keepdim, "min", below);
}

Tensor var(const Tensor& x, const Dims& axes, double correction, bool keepdim) {
  require_floating(x, "var");
  Plan p = plan(x, axes, true, "var");
  Tensor centered = sub(x, mean(x, axes, true));
  double divisor = std::max(0.0, static_cast<double>(p.n) - correction);
  return mul(sum(mul(centered, centered), axes, keepdim), 1.0 / divisor);
}

Tensor argmax(const Tensor& x, Index axis, bool keepdim) {
  return arg_extremum(x, axis, keepdim, "argmax", above);
}
Tensor argmin(const Tensor& x, Index axis, bool keepdim) {
  return arg_extremum(x, axis, keepdim, "argmin", below);
}

Tensor any(const Tensor& x, const Dims& axes, bool keepdim) {
  if (x.dtype() != DType::Bool)
    throw with_operands(DTypeError("any", "needs bool"), Operand("x", x));
  return greater(sum(x, axes, keepdim), 0.0);
}
Tensor all(const Tensor& x, const Dims& axes, bool keepdim) {
  return logical_not(any(logical_not(x), axes, keepdim));
}

Tensor cumsum(const Tensor& x, Index axis) {
  int a = normalize_axis(axis, x.rank(), "cumsum");
  if (x.dtype() == DType::Bool) return cumsum(x.to(DType::Int64), axis);
  Tensor in = x.transpose(a, -1).contiguous();
  Tensor y = empty(in.shape(), x.dtype());
  Index n = in.shape().back(), rows = n ? in.numel() / n : 0;
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* px = in.data<T>();
    T* py = y.data<T>();
    for (Index r = 0; r < rows; ++r) {
      T running = 0;
      for (Index i = 0; i < n; ++i)
        py[r * n + i] = running = static_cast<T>(running + px[r * n + i]);
    }
  });
  return y.transpose(a, -1);
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
  if (!fits)
    throw with_operands(ShapeError("sum_to", to_string(shape) + " does not broadcast to x"),
                        Operand("x", x));
  return (axes.empty() ? x : sum(x, axes, true)).reshape(shape);
}

double dot(const Tensor& a, const Tensor& b) {
  return sum(mul(a.to(DType::Float64), b.to(DType::Float64))).item();
}

Tensor softmax(const Tensor& x, Index axis) {
  return over_floats(x, "softmax", [&]<class T>() {
    return map_rows<T>(x, axis, "softmax", [](const T* in, T* out, Index n) {
      T m = max_of(in, n);
      if (m == -std::numeric_limits<T>::infinity()) {
        std::fill_n(out, n, T(0));
        return;
      }
      T total = 0;
      for (Index i = 0; i < n; ++i) total += out[i] = std::exp(in[i] - m);
      T scale = T(1) / total;
      for (Index i = 0; i < n; ++i) out[i] *= scale;
    });
  });
}

Tensor log_softmax(const Tensor& x, Index axis) {
  return over_floats(x, "log_softmax", [&]<class T>() {
    return map_rows<T>(x, axis, "log_softmax", [](const T* in, T* out, Index n) {
      T m = max_of(in, n), total = 0;
      for (Index i = 0; i < n; ++i) total += std::exp(in[i] - m);
      T log_total = m + std::log(total);
      for (Index i = 0; i < n; ++i) out[i] = in[i] - log_total;
    });
  });
}

Tensor logsumexp(const Tensor& x, Index axis, bool keepdim) {
  Plan p = plan(x, {axis}, keepdim, "logsumexp");
  return over_floats(x, "logsumexp", [&]<class T>() {
    return reduce_rows<T, T>(p, x.dtype(), [](const T* row, Index n) {
      T m = max_of(row, n), total = 0;
      if (std::isinf(m)) return m;
      for (Index i = 0; i < n; ++i) total += std::exp(row[i] - m);
      return m + std::log(total);
    });
  });
}

}  // namespace glim
