// Cross-entropy of rows of logits against smoothed targets, in passes over a row that a
// cache holds, and its gradient.
//
//   -Σ q ln p = total·ln Σ e^{x - m} - Σ q (x - m)      m = max x, total = Σ q
//             = total·ln Σ e^{x - m} - hit (x_target - m) - rest·Σ' (x - m)
//
// Σ' is over the classes other than the target and pad: logits without weight may be -∞. A row of -∞ alone
// has p = 0, as in softmax.
#pragma once

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/portable.hpp"
#include "tensor/simd/functions.hpp"

namespace glim::GLIM_ISA {

// dx = g (total·p - q) of a row; e(x) = e^{x - m} and c = g·total/Σ e.
template <class T, class E>
GLIM_INLINE void gradient_of_row(const SmoothedTarget& q, Index n, const T* x, Index t, T c, T g,
                                 T* dx, const E& e) {
  T rest = g * static_cast<T>(q.rest), hit = g * static_cast<T>(q.hit);
  bool pad_inside = q.pad >= 0 && q.pad < n;
  // Where q differs from `rest`; read first, for dx may be over x.
  T at_target = c * e(splat<T>(x[t]))[0];
  T at_pad = pad_inside ? c * e(splat<T>(x[q.pad]))[0] : T(0);
  each_to<T>(dx, x, n, [&](Index, Vec<T> v) { return multiply_add<T>(e(v), c, -rest); });
  dx[t] = at_target - hit;
  if (pad_inside) dx[q.pad] = at_pad;
}

template <class T>
void cross_entropy_grad(const SmoothedTarget& q, Index rows, Index n, const T* x, Index ld,
                        const Index* target, const T* stats, T g, T* dx, Index ld_dx) {
  for (Index r = 0; r < rows; ++r, x += ld, dx += ld_dx) {
    T m = stats[2 * r], c = g * stats[2 * r + 1];
    if (target[r] == q.pad)
      each_to<T>(dx, x, n, [](Index, Vec<T>) { return Vec<T>{}; });
    else
      gradient_of_row<T>(q, n, x, target[r], c, g, dx, [&](Vec<T> v) { return exp<T>(v - m); });
  }
}

template <class T>
void cross_entropy(const SmoothedTarget& q, Index rows, Index n, const T* x, Index ld,
                   const Index* target, T* stats, double* cross, double* nll, T* dx) {
  constexpr T kInf = static_cast<T>(__builtin_inf());
  for (Index r = 0; r < rows; ++r, x += ld) {
    T* dx_row = dx ? dx + r * n : nullptr;
    const T m = target[r] == q.pad ? -kInf : largest<T>(n, x);
    if (m == -kInf) {
      stats[2 * r] = stats[2 * r + 1] = 0;
      cross[r] = nll[r] = target[r] == q.pad ? 0 : __builtin_inf();
      if (dx) cross_entropy_grad<T>(q, 1, n, x, ld, target + r, stats + 2 * r, T(1), dx_row, n);
      continue;
    }
    Sum<T> total, away;
    constexpr Index L = kLanes<T>;
    double at_target = static_cast<double>(x[target[r]]) - static_cast<double>(m);
    const Index t = target[r], pad = q.pad >= 0 && q.pad < n ? q.pad : t;
    const Index t_vector = t - t % L, pad_vector = pad - pad % L;  // where theirs begin
    each_part<T>(
        n, [&](Index i, int part, bool whole) __attribute__((always_inline)) {
          Vec<T> d = (whole ? load<T>(x + i) : load_part<T>(x + i, n - i, -kInf)) - m;
          Vec<T> e = exp<T>(d);
          total.part[part] += e;
          if (!whole) d = load_part<T>(x + i, n - i, m) - m;
          if (i == t_vector) d[t - i] = 0;
          if (i == pad_vector) d[pad - i] = 0;
          away.part[part] += d;
          if (dx) put<T>(dx_row, i, n, e);  // the last that is read of x there
        });
    T sum = sum_lanes<T>(total);
    double log_sum = portable::log(static_cast<double>(sum));
    double weighted = q.hit * at_target;  // Σ q (x - m)
    if (q.rest > 0) weighted += q.rest * static_cast<double>(sum_lanes<T>(away));
    stats[2 * r] = m;
    stats[2 * r + 1] = static_cast<T>(q.total / static_cast<double>(sum));
    cross[r] = q.total * log_sum - weighted;
    nll[r] = log_sum - at_target;
    if (dx)
      gradient_of_row<T>(q, n, dx_row, t, stats[2 * r + 1], T(1), dx_row,
                         [](Vec<T> e) { return e; });
  }
}

}  // namespace glim::GLIM_ISA
