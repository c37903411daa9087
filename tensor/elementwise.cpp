#include "tensor/elementwise.hpp"

#include <atomic>
#include <cmath>
#include <cstring>

#include "tensor/error.hpp"
#include "tensor/iterate.hpp"

namespace glim {
namespace {

void require_same_dtype(const Tensor& a, const Tensor& b, std::string_view op) {
  if (a.dtype() != b.dtype())
    throw with_operands(DTypeError(op, "dtypes differ"), Operand("a", a), Operand("b", b));
}

struct Pair {
  Tensor a, b;
  Shape shape;
};

Pair broadcast(const Tensor& a, const Tensor& b, std::string_view op) {
  require_same_dtype(a, b, op);
  if (a.shape() == b.shape()) return {a, b, a.shape()};
  try {
    Shape shape = broadcast_shapes(a.shape(), b.shape(), op);
    return {a.expand(shape), b.expand(shape), shape};
  } catch (ShapeError& e) {
    throw with_operands(std::move(e), Operand("a", a), Operand("b", b));
  }
}

[[noreturn]] void no_bool(std::string_view op, const Tensor& x) {
  throw with_operands(DTypeError(op, "is not defined for bool"), Operand("x", x));
}

// Arithmetic with T in {float, double, int64}.
template <class F>
Tensor arithmetic(const Tensor& a, const Tensor& b, std::string_view op, const F& f) {
  Pair p = broadcast(a, b, op);
  Tensor y = empty(p.shape, a.dtype());
  visit_dtype(a.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      no_bool(op, a);
    else
      zip_into<T, T, T>(y, p.a, p.b, f);
  });
  return y;
}

template <class F>
Tensor compare(const Tensor& a, const Tensor& b, std::string_view op, const F& f) {
  Pair p = broadcast(a, b, op);
  Tensor y = empty(p.shape, DType::Bool);
  visit_dtype(a.dtype(), [&]<class T>() { zip_into<bool, T, T>(y, p.a, p.b, f); });
  return y;
}

template <class F>
Tensor compare_scalar(const Tensor& x, double c, const F& f) {
  Tensor y = empty(x.shape(), DType::Bool);
  visit_dtype(x.dtype(), [&]<class T>() {
    T value = static_cast<T>(c);
    map_into<bool, T>(y, x, [&](T v) { return f(v, value); });
  });
  return y;
}

template <class F>
Tensor floating(const Tensor& x, std::string_view op, const F& f) {
  require_floating(x, op);
  Tensor y = empty(x.shape(), x.dtype());
  if (x.dtype() == DType::Float32)
    map_into<float, float>(y, x, f);
  else
    map_into<double, double>(y, x, f);
  return y;
}

template <class F>
Tensor numeric(const Tensor& x, std::string_view op, const F& f) {
  Tensor y = empty(x.shape(), x.dtype());
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      no_bool(op, x);
    else
      map_into<T, T>(y, x, f);
  });
  return y;
}

// int64 arithmetic wraps, as NumPy's does, instead of being undefined.
template <class T, class F>
T wrapping(T a, T b, const F& f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, "add", [](auto x, auto y) {
    return wrapping(x, y, [](auto u, auto v) { return u + v; });
  });
}
Tensor sub(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, "sub", [](auto x, auto y) {
    return wrapping(x, y, [](auto u, auto v) { return u - v; });
  });
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, "mul", [](auto x, auto y) {
    return wrapping(x, y, [](auto u, auto v) { return u * v; });
  });
}
Tensor div(const Tensor& a, const Tensor& b) {
  require_floating(a, "div");
  return arithmetic(a, b, "div", [](auto x, auto y) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return x / y;
    else
      return x;
  });
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, "maximum", [](auto x, auto y) { return x > y || x != x ? x : y; });
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return arithmetic(a, b, "minimum", [](auto x, auto y) { return x < y || x != x ? x : y; });
}
Tensor add(const Tensor& a, double c) {
  return numeric(a, "add", [c](auto x) {
    return wrapping(x, static_cast<decltype(x)>(c), [](auto u, auto v) { return u + v; });
  });
}
Tensor mul(const Tensor& a, double c) {
  return numeric(a, "mul", [c](auto x) {
    return wrapping(x, static_cast<decltype(x)>(c), [](auto u, auto v) { return u * v; });
  });
}

void add_(const Tensor& a, const Tensor& b) {
  require_same_dtype(a, b, "add_");
  Tensor from = b.shape() == a.shape() ? b : b.expand(a.shape());
  visit_dtype(a.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      no_bool("add_", a);
    else
      zip_into<T, T, T>(a, a, from, [](T x, T y) {
        return wrapping(x, y, [](auto u, auto v) { return u + v; });
      });
  });
}
void add_scaled_(const Tensor& a, const Tensor& b, double c) {
  require_floating(a, "add_scaled_");
  require_same_dtype(a, b, "add_scaled_");
  Tensor from = b.shape() == a.shape() ? b : b.expand(a.shape());
  auto run = [&]<class T>() {
    T factor = static_cast<T>(c);
    zip_into<T, T, T>(a, a, from, [factor](T x, T y) { return x + factor * y; });
  };
  if (a.dtype() == DType::Float32)
    run.template operator()<float>();
  else
    run.template operator()<double>();
}
void mul_(const Tensor& a, double c) {
  require_floating(a, "mul_");
  if (a.dtype() == DType::Float32)
    map_into<float, float>(a, a, [f = static_cast<float>(c)](float x) { return x * f; });
  else
    map_into<double, double>(a, a, [c](double x) { return x * c; });
}

Tensor neg(const Tensor& x) {
  return numeric(x, "neg", [](auto v) {
    return wrapping(decltype(v)(0), v, [](auto a, auto b) { return a - b; });
  });
}
Tensor abs(const Tensor& x) {
  return numeric(x, "abs", [](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      return std::abs(v);
    else
      return v < 0 ? wrapping(decltype(v)(0), v, [](auto a, auto b) { return a - b; }) : v;
  });
}
Tensor sign(const Tensor& x) {
  return numeric(x, "sign", [](auto v) {
    using T = decltype(v);
    return v > 0 ? T(1) : v < 0 ? T(-1) : v;  // 0 and NaN stay
  });
}
Tensor exp(const Tensor& x) {
  return floating(x, "exp", [](auto v) { return std::exp(v); });
}
Tensor log(const Tensor& x) {
  return floating(x, "log", [](auto v) { return std::log(v); });
}
Tensor sqrt(const Tensor& x) {
  return floating(x, "sqrt", [](auto v) { return std::sqrt(v); });
}
Tensor sin(const Tensor& x) {
  return floating(x, "sin", [](auto v) { return std::sin(v); });
}
Tensor cos(const Tensor& x) {
  return floating(x, "cos", [](auto v) { return std::cos(v); });
}
Tensor tanh(const Tensor& x) {
  return floating(x, "tanh", [](auto v) { return std::tanh(v); });
}
Tensor erf(const Tensor& x) {
  return floating(x, "erf", [](auto v) { return std::erf(v); });
}
Tensor sigmoid(const Tensor& x) {
  return floating(x, "sigmoid", [](auto v) {
    using T = decltype(v);
    T e = std::exp(-std::abs(v));  // in (0, 1]
    return (v >= 0 ? T(1) : e) / (T(1) + e);
  });
}
Tensor relu(const Tensor& x) {
  return floating(x, "relu", [](auto v) { return v < 0 ? decltype(v)(0) : v; });
}
Tensor pow(const Tensor& x, double exponent) {
  if (exponent == 2) return floating(x, "pow", [](auto v) { return v * v; });
  return floating(x, "pow",
                  [exponent](auto v) { return std::pow(v, static_cast<decltype(v)>(exponent)); });
}
Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high)) throw ValueError("clamp", "the lower bound is above the upper one");
  return floating(x, "clamp", [=](auto v) {
    using T = decltype(v);
    return v < T(low) ? T(low) : v > T(high) ? T(high) : v;
  });
}

Tensor equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "equal", [](auto x, auto y) { return x == y; });
}
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "not_equal", [](auto x, auto y) { return x != y; });
}
Tensor less(const Tensor& a, const Tensor& b) {
  return compare(a, b, "less", [](auto x, auto y) { return x < y; });
}
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "less_equal", [](auto x, auto y) { return x <= y; });
}
Tensor greater(const Tensor& a, const Tensor& b) {
  return compare(a, b, "greater", [](auto x, auto y) { return x > y; });
}
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "greater_equal", [](auto x, auto y) { return x >= y; });
}
Tensor equal(const Tensor& x, double c) {
  return compare_scalar(x, c, [](auto v, auto w) { return v == w; });
}
Tensor not_equal(const Tensor& x, double c) {
  return compare_scalar(x, c, [](auto v, auto w) { return v != w; });
}
Tensor less(const Tensor& x, double c) {
  return compare_scalar(x, c, [](auto v, auto w) { return v < w; });
}
Tensor greater(const Tensor& x, double c) {
  return compare_scalar(x, c, [](auto v, auto w) { return v > w; });
}
Tensor is_finite(const Tensor& x) {
  Tensor y = empty(x.shape(), DType::Bool);
  visit_dtype(x.dtype(), [&]<class T>() {
    map_into<bool, T>(y, x, [](T v) {
      if constexpr (std::is_floating_point_v<T>)
        return std::isfinite(v);
      else
        return (void)v, true;
    });
  });
  return y;
}

namespace {
void require_bool(const Tensor& x, std::string_view op) {
  if (x.dtype() != DType::Bool) throw with_operands(DTypeError(op, "needs bool"), Operand("x", x));
}
}  // namespace

Tensor logical_and(const Tensor& a, const Tensor& b) {
  require_bool(a, "logical_and");
  return compare(a, b, "logical_and", [](auto x, auto y) { return x && y; });
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  require_bool(a, "logical_or");
  return compare(a, b, "logical_or", [](auto x, auto y) { return x || y; });
}
Tensor logical_not(const Tensor& a) {
  require_bool(a, "logical_not");
  Tensor y = empty(a.shape(), DType::Bool);
  map_into<bool, bool>(y, a, [](bool v) { return !v; });
  return y;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_bool(condition, "where");
  Pair p = broadcast(a, b, "where");
  Shape shape;
  try {
    shape = broadcast_shapes(condition.shape(), p.shape, "where");
  } catch (ShapeError& e) {
    throw with_operands(std::move(e), Operand("condition", condition), Operand("a", a),
                        Operand("b", b));
  }
  Tensor c = condition.expand(shape), x = p.a.expand(shape), z = p.b.expand(shape);
  Tensor y = empty(shape, a.dtype());
  visit_dtype(a.dtype(), [&]<class T>() {
    const bool* pc = c.data<bool>();
    const T *px = x.data<T>(), *pz = z.data<T>();
    T* py = y.data<T>();
    Loop<4> loop(shape, {&y.strides(), &c.strides(), &x.strides(), &z.strides()});
    Index sy = loop.st(0, 0), sc = loop.st(1, 0), sx = loop.st(2, 0), sz = loop.st(3, 0);
    loop.runs([&](Index n, const std::array<Index, 4>& at) {
      for (Index i = 0; i < n; ++i)
        py[at[0] + i * sy] = pc[at[1] + i * sc] ? px[at[2] + i * sx] : pz[at[3] + i * sz];
    });
  });
  return y;
}

bool all_finite(const Tensor& x) {
  if (!is_floating(x.dtype())) return true;
  std::atomic<bool> finite{true};
  auto scan = [&]<class T>() {
    const T* p = x.data<T>();
    Loop<1> loop(x.shape(), {&x.strides()});
    Index s = loop.st(0, 0);
    loop.runs([&](Index n, const std::array<Index, 1>& at) {
      // v - v is 0 for finite v and NaN otherwise, and NaN survives the sum.
      T sum = 0;
      for (Index i = 0; i < n; ++i) sum += p[at[0] + i * s] - p[at[0] + i * s];
      if (sum != 0) finite.store(false, std::memory_order_relaxed);
    });
  };
  if (x.dtype() == DType::Float32)
    scan.template operator()<float>();
  else
    scan.template operator()<double>();
  return finite;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.numel() == 0) return true;
  Tensor x = a.contiguous(), y = b.contiguous();
  return visit_dtype(a.dtype(), [&]<class T>() {
    return std::memcmp(x.data<T>(), y.data<T>(), static_cast<std::size_t>(a.numel()) * sizeof(T)) ==
           0;
  });
}

}  // namespace glim
