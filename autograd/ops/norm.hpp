// Layer norm and RMS norm have one kernel. Their equations are in layer_norm.cpp and rms_norm.cpp.
#pragma once

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim::ops {

struct Norm : Fused {
  enum Input { X, Gamma, Beta };
  explicit Norm(double e) : eps(e) {}

  // The rule has a tensor for each of its terms. The kernel reads a row from memory once forward and once backward. x̂ never
  // exists: each row's 1/σ and, unless it counts as 0, its μ are kept, and x̂ is computed again.
  Tensor normalized(const Tensor& x, const Tensor& gamma, const Tensor& beta, bool centered) {
    LastAxis in = rows_of(x);
    Tensor scale = contiguous_or_none(gamma), shift = contiguous_or_none(beta);
    Tensor y = empty(x.shape(), x.dtype()), inverse_sigma = empty({in.count}, x.dtype());
    Tensor mean = centered ? empty({in.count}, x.dtype()) : Tensor();
    each_rows(in, [&]<class T>(Index begin, Index end) {
      dispatch<simd::norm_rows<T>>({.rows = end - begin,
                                    .columns = in.columns,
                                    .x = {in.at<T>(begin), in.ld},
                                    .gamma = data_or_null<T>(scale),
                                    .beta = data_or_null<T>(shift),
                                    .eps = static_cast<T>(eps),
                                    .y = y.data<T>() + begin * in.columns,
                                    .mean = data_or_null<T>(mean, begin),
                                    .inverse_sigma = inverse_sigma.data<T>() + begin});
    });
    keep(mean, inverse_sigma);
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    LastAxis in = rows_of(saved(X).value()), dy_rows = rows_of(dy.value());
    Tensor scale = contiguous_or_none(saved(Gamma).value());
    const Tensor &mean = kept(0), &inverse_sigma = kept(1);
    Tensor dx = needs_grad(X) ? empty(dy.shape(), dy.dtype()) : Tensor();
    RowSums dgamma(in, needs_grad(Gamma)), dbeta(in, needs_grad(Beta));
    each_rows(in, [&]<class T>(Index begin, Index end) {
      dispatch<simd::norm_rows_grad<T>>({.rows = end - begin,
                                         .columns = in.columns,
                                         .x = {in.at<T>(begin), in.ld},
                                         .gamma = data_or_null<T>(scale),
                                         .mean = data_or_null<T>(mean, begin),
                                         .inverse_sigma = inverse_sigma.data<T>() + begin,
                                         .dy = {dy_rows.at<T>(begin), dy_rows.ld},
                                         .dx = data_or_null<T>(dx, begin * in.columns),
                                         .dgamma = dgamma.at<T>(begin),
                                         .dbeta = dbeta.at<T>(begin)});
    });
    return {{X, dx}, {Gamma, dgamma.total()}, {Beta, dbeta.total()}};
  }

  double eps;
};

// gamma or beta of a norm over the last axis of x: (D,) of its dtype, or undefined.
inline bool fits_columns(const Var& v, const Var& x) {
  return !v.defined() || (v.rank() == 1 && v.size(0) == x.size(-1) && v.dtype() == x.dtype());
}

// norm(x, gamma, beta) of the last axes as one axis; gamma and beta of their shape, or undefined.
template <class F>
Var over_last_axes(std::string_view op, const Operand& x, const Shape& shape, const Var& gamma,
                   const Var& beta, const F& norm) {
  const int before = x->rank() - shape.rank();
  Shape flat, last;
  for (int i = 0; i < x->rank(); ++i) (i < before ? flat : last).push_back(x->shape()[i]);
  auto fits = [&](const Var& v) { return !v.defined() || v.shape() == shape; };
  if (shape.empty() || last != shape || !fits(gamma) || !fits(beta))
    throw ShapeError(op, "x must end in " + to_string(shape) + ", the shape of gamma and beta",
                     {{"x", x->value()}, {"gamma", gamma.value()}, {"beta", beta.value()}});
  CallSite site(x.where());
  if (shape.rank() == 1) return norm(x, gamma, beta);
  const Index n = numel_of(shape);
  auto vector = [&](const Var& v) { return v.defined() ? reshape(v, {n}) : v; };
  flat.push_back(n);
  Var shift = vector(beta), gain = vector(gamma);
  return reshape(norm(reshape(x, flat), gain, shift), x->shape());
}

}  // namespace glim::ops
