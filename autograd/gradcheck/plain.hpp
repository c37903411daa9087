// A gradient checker to read and to copy, in 40 lines, for float64 and first derivatives. Use gradcheck.hpp to check: it
// also knows kinks, rounding, float32, views and several outputs, and says what is wrong.
#pragma once

#include <limits>

#include "autograd/ops.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim::plain {

using Tensors = std::vector<Tensor>;
using Function = std::function<Var(const std::vector<Var>& x)>;

// ∂(Σ u f)/∂x_k, by backward.
inline Tensor analytic(const Function& f, const Tensors& x, std::size_t k, const Tensor& u) {
  Tape tape;
  std::vector<Var> leaves;
  for (const Tensor& input : x) leaves.push_back(Var::leaf(input));
  return tape.grad(f(leaves), {leaves[k]}, u)[0].value();
}
// ∂(Σ u f)/∂x_k, by differences: (Σ u f(x + h e) - Σ u f(x - h e)) / 2h for each element e of x_k.
inline Tensor numeric(const Function& f, const Tensors& x, std::size_t k, const Tensor& u) {
  const double h = 5e-6;  // near ∛ε of float64
  const Tensor d = zeros(x[k].shape(), DType::Float64);
  auto loss = [&](Index e, double step) {
    Tensors moved = x;
    moved[k] = x[k].clone();
    moved[k].data<double>()[e] += step;
    return dot(u, f({moved.begin(), moved.end()}).value());
  };
  for (Index e = 0; e < d.numel(); ++e) d.data<double>()[e] = (loss(e, h) - loss(e, -h)) / (2 * h);
  return d;
}
// How far apart they are, in units of the tolerance: they agree if it is at most 1. ∞ if one of them is not finite.
// u is random: a plain sum, u = 1, hides most of what can go wrong in a softmax.
inline double compare(const Function& f, const Tensors& x, std::size_t k) {
  const Tensor u = uniform(f({x.begin(), x.end()}).shape(), -1, 1, {1, k}, DType::Float64);
  const Tensor a = analytic(f, x, k, u), n = numeric(f, x, k, u);
  const double error = max(abs(a - n) / (1e-5 * abs(n) + 1e-7)).item();
  const double infinity = std::numeric_limits<double>::infinity();
  return error < infinity ? error : infinity;  // NaN is no agreement
}

}  // namespace glim::plain
