// For the sources of tensor/ops/elementwise.hpp: what their functions check first.
#pragma once

#include "tensor/error.hpp"
#include "tensor/tensor.hpp"

namespace glim {

inline void require_same_dtype(const Tensor& a, const Tensor& b, std::string_view op) {
  if (a.dtype() != b.dtype()) throw DTypeError(op, "dtypes differ", {{"a", a}, {"b", b}});
}

[[noreturn]] inline void no_bool(std::string_view op, const Tensor& x) {
  throw DTypeError(op, "is not defined for bool", {{"x", x}});
}

// Calls f.template operator()<T>() for an x of any dtype but bool.
template <class F>
void visit_numeric(const Tensor& x, std::string_view op, const F& f) {
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      no_bool(op, x);
    else
      f.template operator()<T>();
  });
}

struct BroadcastTensors {  // two operands expanded to one shape
  Tensor a, b;
  Shape shape;
};

inline BroadcastTensors broadcast(const Tensor& a, const Tensor& b, std::string_view op) {
  require_same_dtype(a, b, op);
  if (a.shape() == b.shape()) return {a, b, a.shape()};
  try {
    Shape shape = broadcast_shapes(a.shape(), b.shape(), op);
    return {broadcast_to(a, shape), broadcast_to(b, shape), shape};
  } catch (ShapeError& e) {
    throw with_operands(std::move(e), NamedOperand("a", a), NamedOperand("b", b));
  }
}

}  // namespace glim
