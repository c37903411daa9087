// softmax, log_softmax and logsumexp; declared in tensor/ops/reduce.hpp.
#include <cmath>
#include <limits>

#include "tensor/ops/reduce.hpp"
#include "tensor/ops/rows.hpp"
#include "tensor/portable.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

template <class T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

// Where that is not finite, NaN if there is one.
template <class T>
T max_of(const T* row, Index n) {
  T m = largest_of(row, n);
  if (std::isfinite(m)) return m;
  for (Index i = 0; i < n; ++i)
    if (row[i] != row[i]) return row[i];
  return m;
}

template <class T>
T sum_of_exponentials(const T* in, T m, Index n, T* out) {
  return dispatch<simd::sum_of_exponentials<T>>(n, m, in, out);
}

template <class T>
T log_of(T x) {
  return static_cast<T>(portable::log(static_cast<double>(x)));
}

template <class T>
void softmax_row(const T* in, T* out, Index n) {
  T m = max_of(in, n);
  if (m == kMinusInfinity<T>) {
    std::fill_n(out, n, T(0));
    return;
  }
  T scale = T(1) / sum_of_exponentials(in, m, n, out);
  for (Index i = 0; i < n; ++i) out[i] *= scale;
}

template <class T>
void log_softmax_row(const T* in, T* out, Index n) {
  T m = max_of(in, n);
  if (m == kMinusInfinity<T>) {
    std::fill_n(out, n, m);
    return;
  }
  T log_total = log_of(sum_of_exponentials<T>(in, m, n, nullptr));
  for (Index i = 0; i < n; ++i) out[i] = (in[i] - m) - log_total;
}

template <class T>
T logsumexp_row(const T* in, Index n) {
  T m = max_of(in, n);
  if (std::isinf(m)) return m;
  return m + log_of(sum_of_exponentials<T>(in, m, n, nullptr));
}

}  // namespace

Tensor softmax(const Tensor& x, Index axis) {
  return over_floats(x, "softmax",
                     [&]<class T>() { return map_rows<T>(x, axis, "softmax", softmax_row<T>); });
}

Tensor log_softmax(const Tensor& x, Index axis) {
  return over_floats(x, "log_softmax", [&]<class T>() {
    return map_rows<T>(x, axis, "log_softmax", log_softmax_row<T>);
  });
}

Tensor logsumexp(const Tensor& x, Index axis, bool keepdim) {
  RowPlan p = plan_rows(x, {axis}, keepdim, "logsumexp");
  return over_floats(x, "logsumexp",
                     [&]<class T>() { return reduce_rows<T, T>(p, x.dtype(), logsumexp_row<T>); });
}

template <class T>
T largest_of(const T* row, Index n) {
  return dispatch<simd::largest<T>>(n, row);
}
template <class T>
double log_total_of(const T* row, Index n, T largest) {
  const T sum = sum_of_exponentials<T>(row, largest, n, nullptr);
  return static_cast<double>(largest) + portable::log(static_cast<double>(sum));
}
template float largest_of(const float*, Index);
template double largest_of(const double*, Index);
template double log_total_of(const float*, Index, float);
template double log_total_of(const double*, Index, double);

}  // namespace glim
