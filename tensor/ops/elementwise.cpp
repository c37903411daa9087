#include "tensor/ops/elementwise.hpp"

#include <charconv>
#include <cmath>

#include "tensor/iterate.hpp"
#include "tensor/ops/broadcast.hpp"
#include "tensor/ops/wrap.hpp"
#include "tensor/parallel.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

// Arithmetic with T in {float, double, int64}.
template <class F>
Tensor arithmetic(const Tensor& a, const Tensor& b, std::string_view op, const F& f) {
  auto into = [&](const Tensor& y, const Tensor& left, const Tensor& right) {
    visit_numeric(a, op, [&]<class T>() { map_into<T, T, T>(y, {&left, &right}, f); });
    return y;
  };
  // Nothing to broadcast, the common case: no views are made.
  if (a.dtype() == b.dtype() && a.shape() == b.shape())
    return into(empty(a.shape(), a.dtype()), a, b);
  BroadcastTensors p = broadcast(a, b, op);
  return into(empty(p.shape, a.dtype()), p.a, p.b);
}

template <class F>
Tensor floating(const Tensor& x, std::string_view op, const F& f) {
  require_floating(x, op);
  Tensor y = empty(x.shape(), x.dtype());
  visit_floating(x.dtype(), [&]<class T>() { map_into<T, T>(y, {&x}, f); });
  return y;
}

template <class F>
Tensor numeric(const Tensor& x, std::string_view op, const F& f) {
  Tensor y = empty(x.shape(), x.dtype());
  visit_numeric(x, op, [&]<class T>() { map_into<T, T>(y, {&x}, f); });
  return y;
}

// A scalar as an operand in x's dtype; ValueError when x is int64 and c no integer.
template <class T>
T scalar_operand(const Tensor& x, double c, std::string_view op) {
  if constexpr (std::is_integral_v<T>) {
    if (!(c >= -0x1p63 && c < 0x1p63) || c != std::floor(c)) {
      char text[32];
      auto end = std::to_chars(text, text + sizeof text, c).ptr;
      throw ValueError(op, std::string(text, end) + " is not an integer", {{"x", x}});
    }
  }
  return static_cast<T>(c);
}

template <class F>
Tensor with_scalar(const Tensor& x, double c, std::string_view op, const F& f) {
  Tensor y = empty(x.shape(), x.dtype());
  visit_numeric(x, op, [&]<class T>() {
    T value = scalar_operand<T>(x, c, op);
    map_into<T, T>(y, {&x}, [&](T v) { return f(v, value); });
  });
  return y;
}

constexpr Index kPiece = 16384;  // elements: some 10 µs of work

// The kernels want elements that are side by side.
Tensor function_of(const Tensor& x, ElementFunction f, std::string_view op) {
  require_floating(x, op);
  Tensor in = x.contiguous(), y = empty(x.shape(), x.dtype());
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_for(y.numel(), kPiece, [&](Index begin, Index end) {
      dispatch<simd::function<T>>(f, end - begin, in.data<T>() + begin, y.data<T>() + begin);
    });
  });
  return y;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return arithmetic(a, b, "add", wrap_add); }
Tensor sub(const Tensor& a, const Tensor& b) { return arithmetic(a, b, "sub", wrap_sub); }
Tensor mul(const Tensor& a, const Tensor& b) { return arithmetic(a, b, "mul", wrap_mul); }
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
Tensor add(const Tensor& a, double c) { return with_scalar(a, c, "add", wrap_add); }
Tensor mul(const Tensor& a, double c) { return with_scalar(a, c, "mul", wrap_mul); }
Tensor div(const Tensor& a, double c) {
  return floating(a, "div", [c](auto v) { return v / static_cast<decltype(v)>(c); });
}

void add_(const Tensor& a, const Tensor& b, const Where& where) {
  require_same_dtype(a, b, "add_");
  require_writable(a, "add_");
  Tensor source = source_for(a, b, "add_");
  a.storage().written(where);
  visit_numeric(a, "add_", [&]<class T>() { map_into<T, T, T>(a, {&a, &source}, wrap_add); });
}
void add_scaled_(const Tensor& a, const Tensor& b, double c, const Where& where) {
  require_floating(a, "add_scaled_");
  require_same_dtype(a, b, "add_scaled_");
  require_writable(a, "add_scaled_");
  Tensor source = source_for(a, b, "add_scaled_");
  a.storage().written(where);
  visit_floating(a.dtype(), [&]<class T>() {
    T factor = static_cast<T>(c);
    map_into<T, T, T>(a, {&a, &source}, [factor](T x, T y) { return x + factor * y; });
  });
}
void mul_(const Tensor& a, double c, const Where& where) {
  require_floating(a, "mul_");
  require_writable(a, "mul_");
  a.storage().written(where);
  visit_floating(a.dtype(), [&]<class T>() {
    map_into<T, T>(a, {&a}, [f = static_cast<T>(c)](T x) { return x * f; });
  });
}

Tensor neg(const Tensor& x) {
  return numeric(x, "neg", [](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      return -v;
    else
      return wrap_sub(decltype(v)(0), v);
  });
}
Tensor abs(const Tensor& x) {
  return numeric(x, "abs", [](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      return std::abs(v);
    else
      return v < 0 ? wrap_sub(decltype(v)(0), v) : v;
  });
}
Tensor sign(const Tensor& x) {
  return numeric(x, "sign", [](auto v) {
    using T = decltype(v);
    return v > 0 ? T(1) : v < 0 ? T(-1) : v;  // 0 and NaN stay
  });
}
#define GLIM_FUNCTION(name, ...) \
  Tensor name(const Tensor& x) { return function_of(x, ElementFunction::name, #name); }
GLIM_ELEMENT_FUNCTIONS(GLIM_FUNCTION)
GLIM_FLOAT64_FUNCTIONS(GLIM_FUNCTION)
#undef GLIM_FUNCTION
#define GLIM_SCALAR_FUNCTION(name, value)                                \
  Tensor name(const Tensor& operand) {                                   \
    return floating(operand, #name, []<class T>(T x) { return value; }); \
  }
GLIM_SCALAR_FUNCTIONS(GLIM_SCALAR_FUNCTION)
#undef GLIM_SCALAR_FUNCTION
Tensor gelu(const Tensor& x, GeluForm form) {
  return form == GeluForm::Erf ? gelu_erf(x) : gelu_tanh(x);
}
Tensor pow(const Tensor& x, const Tensor& exponent) {
  require_floating(x, "pow");
  BroadcastTensors p = broadcast(x, exponent, "pow");
  Tensor a = p.a.contiguous(), b = p.b.contiguous(), y = empty(p.shape, x.dtype());
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_for(y.numel(), kPiece, [&](Index begin, Index end) {
      dispatch<simd::power<T>>(end - begin, a.data<T>() + begin, b.data<T>() + begin,
                               y.data<T>() + begin);
    });
  });
  return y;
}
Tensor pow(const Tensor& x, double exponent) {
  if (exponent == 1) return floating(x, "pow", [](auto v) { return v; });
  if (exponent == 2) return floating(x, "pow", [](auto v) { return v * v; });
  require_floating(x, "pow");
  return pow(x, scalar(exponent, x.dtype()));
}
Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high)) throw ValueError("clamp", "the lower bound is above the upper one");
  return floating(x, "clamp", [=](auto v) {
    using T = decltype(v);
    return v < T(low) ? T(low) : v > T(high) ? T(high) : v;
  });
}

}  // namespace glim
