// Element-wise functions on tensors. Binary ones broadcast (NumPy's rule) and need equal dtypes.
//
// Errors: ShapeError where shapes do not broadcast, DTypeError where dtypes differ or do not suit.
#pragma once

#include "tensor/simd/element_functions.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// Arithmetic on float32, float64, int64 (div: floating only).
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN where either is NaN
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double c);  // ValueError when a is int64 and c no integer
Tensor mul(const Tensor& a, double c);
Tensor div(const Tensor& a, double c);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double c) { return add(a, c); }
inline Tensor operator+(double c, const Tensor& a) { return add(a, c); }
inline Tensor operator-(const Tensor& a, double c) { return add(a, -c); }
inline Tensor operator*(const Tensor& a, double c) { return mul(a, c); }
inline Tensor operator*(double c, const Tensor& a) { return mul(a, c); }
inline Tensor operator/(const Tensor& a, double c) { return div(a, c); }
inline Tensor operator/(double c, const Tensor& a) { return div(scalar(c, a.dtype()), a); }

// a += b, a += c·b, a *= c in place; b broadcasts to a. ValueError when a was expanded.
void add_(const Tensor& a, const Tensor& b, const Where& where = Where::current());
void add_scaled_(const Tensor& a, const Tensor& b, double c, const Where& where = Where::current());
void mul_(const Tensor& a, double c, const Where& where = Where::current());

// a += b writes into the elements of a, which its views share, as in NumPy. So do -=, *= and /=. b is a Tensor that
// broadcasts to a, or a number. The errors are those of a + b and of copy_, and name the caller's line.
struct Target {
  const Tensor& tensor;
  Where where;
  Target(const Tensor& a, Where line = Where::current()) : tensor(a), where(line) {}
};
#define GLIM_IN_PLACE(op)                                        \
  inline void operator op##=(const Target& a, const Tensor& b) { \
    a.tensor.copy_(a.tensor op b, a.where);                      \
  }                                                              \
  inline void operator op##=(const Target& a, double c) { a.tensor.copy_(a.tensor op c, a.where); }
GLIM_IN_PLACE(+)
GLIM_IN_PLACE(-)
GLIM_IN_PLACE(*)
GLIM_IN_PLACE(/)
#undef GLIM_IN_PLACE

// Functions of one floating tensor: exp, tanh ..., a row of tensor/simd/element_functions.hpp each.
#define GLIM_DECLARE(name, ...) Tensor name(const Tensor& x);
GLIM_ELEMENT_FUNCTIONS(GLIM_DECLARE)
GLIM_FLOAT64_FUNCTIONS(GLIM_DECLARE)
GLIM_SCALAR_FUNCTIONS(GLIM_DECLARE)
#undef GLIM_DECLARE
Tensor neg(const Tensor& x);  // int64 too
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator-(double c, const Tensor& x) { return add(neg(x), c); }
Tensor abs(const Tensor& x);  // int64 too
Tensor sign(const Tensor& x);
enum class GeluForm { Erf, Tanh };
// x Φ(x), Φ the normal distribution; or its tanh approximation (Hendrycks & Gimpel 2016)
Tensor gelu(const Tensor& x, GeluForm form);
Tensor pow(const Tensor& x, double exponent);
Tensor pow(const Tensor& x, const Tensor& exponent);
Tensor clamp(const Tensor& x, double low, double high);  // ValueError when low > high

// Comparisons give bool. A scalar is compared in x's floating dtype, with an int64 exactly.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& x, double c);
Tensor not_equal(const Tensor& x, double c);
Tensor less(const Tensor& x, double c);
Tensor less_equal(const Tensor& x, double c);
Tensor greater(const Tensor& x, double c);
Tensor greater_equal(const Tensor& x, double c);

// Logic on bool.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& a);

// condition ? a : b, all three broadcast together; condition is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

bool all_finite(const Tensor& x);                  // true for int64 and bool
bool same_bits(const Tensor& a, const Tensor& b);  // equal shape, dtype and every byte

}  // namespace glim
