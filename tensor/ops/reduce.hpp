// Reductions along axes, softmax and cumulative sums.
//
// `axes` empty means all axes. With keepdim the reduced axes stay with extent 1. Sums run in a
// fixed order that does not depend on the number of threads. A reduction over nothing gives the
// neutral element where there is one (sum 0), NaN for mean and var, ValueError for max and argmax.
#pragma once

#include "tensor/tensor.hpp"

namespace glim {

Tensor sum(const Tensor& x, const Dims& axes = {}, bool keepdim = false);  // bool counts as int64
Tensor mean(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
Tensor max(const Tensor& x, const Dims& axes = {}, bool keepdim = false);  // NaN wins
Tensor min(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
// Σ (x - mean)² / (n - correction): 1 for the unbiased estimate, 0 for the population.
Tensor var(const Tensor& x, const Dims& axes = {}, double correction = 1, bool keepdim = false);
Tensor argmax(const Tensor& x, Index axis, bool keepdim = false);  // int64; the first of equals
Tensor argmin(const Tensor& x, Index axis, bool keepdim = false);
Tensor argmax(const Tensor& x);  // in row-major order, of all
Tensor argmin(const Tensor& x);
Tensor any(const Tensor& x, const Dims& axes = {}, bool keepdim = false);  // bool
Tensor all(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
// y_i = Σ_{j<=i} x_j, or from the far end, Σ_{j>=i} x_j
Tensor cumsum(const Tensor& x, Index axis, bool reverse = false);
// y_0 = b_0, y_i = a_{i-1} y_{i-1} + b_i along the axis, where a has one element less than b; or from the
// far end, y_n = b_n, y_i = a_i y_{i+1} + b_i. In float64, each y rounded once. ShapeError unless a fits.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, Index axis, bool reverse = false);
// Where the largest (smallest) element up to here is, the last of equals. NaN wins.
Tensor cumargmax(const Tensor& x, Index axis);
Tensor cumargmin(const Tensor& x, Index axis);
// Sums x down to `shape`, the reverse of expand. ShapeError unless `shape` broadcasts to x's.
Tensor sum_to(const Tensor& x, const Shape& shape);
double dot(const Tensor& a, const Tensor& b);  // Σ a·b over all elements, in float64
double norm(const Tensor& x);                  // √Σ x² over all elements, in float64

// e^{x - max} / Σ e^{x - max} along the axis; rows that are all -inf become zeros.
Tensor softmax(const Tensor& x, Index axis = -1);
// x - max - log Σ e^{x - max}; rows that are all -inf stay -inf, the logarithm of those zeros.
Tensor log_softmax(const Tensor& x, Index axis = -1);
Tensor logsumexp(const Tensor& x, Index axis = -1, bool keepdim = false);
// The largest element of one contiguous row (NaN counts for nothing), and ln Σ eˣ from it. A search reads them.
template <class T>
T largest_of(const T* row, Index n);
template <class T>
double log_total_of(const T* row, Index n, T largest);

}  // namespace glim
