// Comparisons, logic and choice; declared in tensor/ops/elementwise.hpp.
#include <atomic>
#include <cstring>
#include <functional>

#include "tensor/iterate.hpp"
#include "tensor/ops/broadcast.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

template <class F>
Tensor compare(const Tensor& a, const Tensor& b, std::string_view op, const F& f) {
  BroadcastTensors p = broadcast(a, b, op);
  Tensor y = empty(p.shape, DType::Bool);
  visit_dtype(a.dtype(), [&]<class T>() { map_into<bool, T, T>(y, {&p.a, &p.b}, f); });
  return y;
}

// The sign of v - c, exactly, although no double has each int64; NaN for a NaN.
double sign_of_difference(Index v, double c) {
  if (!(c >= -0x1p63)) return c < 0 ? 1 : c;
  if (c >= 0x1p63) return -1;
  const auto whole = static_cast<Index>(c);
  return v < whole ? -1 : v > whole ? 1 : static_cast<double>(whole) - c;
}

// Floats are compared in their own dtype, an int64 exactly.
template <class F>
Tensor compare_scalar(const Tensor& x, double c, const F& f) {
  Tensor y = empty(x.shape(), DType::Bool);
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, Index>) {
      map_into<bool, T>(y, {&x}, [&](T v) { return f(sign_of_difference(v, c), 0.0); });
    } else {
      using Common = std::conditional_t<std::is_same_v<T, bool>, double, T>;
      const auto value = static_cast<Common>(c);
      map_into<bool, T>(y, {&x}, [&](T v) { return f(static_cast<Common>(v), value); });
    }
  });
  return y;
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return compare(a, b, "equal", std::equal_to()); }
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "not_equal", std::not_equal_to());
}
Tensor less(const Tensor& a, const Tensor& b) { return compare(a, b, "less", std::less()); }
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "less_equal", std::less_equal());
}
Tensor greater(const Tensor& a, const Tensor& b) {
  return compare(a, b, "greater", std::greater());
}
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compare(a, b, "greater_equal", std::greater_equal());
}
Tensor equal(const Tensor& x, double c) { return compare_scalar(x, c, std::equal_to()); }
Tensor not_equal(const Tensor& x, double c) { return compare_scalar(x, c, std::not_equal_to()); }
Tensor less(const Tensor& x, double c) { return compare_scalar(x, c, std::less()); }
Tensor less_equal(const Tensor& x, double c) { return compare_scalar(x, c, std::less_equal()); }
Tensor greater(const Tensor& x, double c) { return compare_scalar(x, c, std::greater()); }
Tensor greater_equal(const Tensor& x, double c) {
  return compare_scalar(x, c, std::greater_equal());
}

namespace {
void require_bool(const Tensor& x, std::string_view op) {
  if (x.dtype() != DType::Bool) throw DTypeError(op, "needs bool", {{"x", x}});
}
}  // namespace

Tensor logical_and(const Tensor& a, const Tensor& b) {
  require_bool(a, "logical_and");
  return compare(a, b, "logical_and", std::logical_and());
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  require_bool(a, "logical_or");
  return compare(a, b, "logical_or", std::logical_or());
}
Tensor logical_not(const Tensor& a) {
  require_bool(a, "logical_not");
  Tensor y = empty(a.shape(), DType::Bool);
  map_into<bool, bool>(y, {&a}, std::logical_not());
  return y;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_bool(condition, "where");
  BroadcastTensors p = broadcast(a, b, "where");
  Shape shape;
  try {
    shape = broadcast_shapes(condition.shape(), p.shape, "where");
  } catch (ShapeError& e) {
    throw with_operands(std::move(e), NamedOperand("condition", condition), NamedOperand("a", a),
                        NamedOperand("b", b));
  }
  Tensor c = broadcast_to(condition, shape), x = broadcast_to(p.a, shape),
         z = broadcast_to(p.b, shape);
  Tensor y = empty(shape, a.dtype());
  visit_dtype(a.dtype(), [&]<class T>() {
    map_into<T, bool, T, T>(y, {&c, &x, &z}, [](bool first, T u, T v) { return first ? u : v; });
  });
  return y;
}

bool all_finite(const Tensor& x) {
  if (!is_floating(x.dtype())) return true;
  std::atomic<bool> finite{true};
  visit_floating(x.dtype(), [&]<class T>() {
    const T* p = x.data<T>();
    Loop loop(x.shape(), {&x.strides()});
    Index s = loop.step(0);
    loop.runs([&](Index n, const Index* offsets) {
      // v - v is 0 for finite v and NaN otherwise, and NaN survives the sum.
      T sum = 0;
      for (Index i = 0; i < n; ++i) sum += p[offsets[0] + i * s] - p[offsets[0] + i * s];
      if (sum != 0) finite.store(false, std::memory_order_relaxed);
    });
  });
  return finite;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.numel() == 0) return true;
  Tensor x = a.contiguous(), y = b.contiguous();
  return visit_dtype(a.dtype(), [&]<class T>() {
    return std::memcmp(x.data<T>(), y.data<T>(), a.numel() * sizeof(T)) == 0;
  });
}

}  // namespace glim
