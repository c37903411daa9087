// identical-tokens: what rank collapse does to the query and key weights.
//
// Noci et al. 2022 (arXiv 2206.03126): once all tokens are one, queries and keys learn nothing.
// With x_j = x for all j: the scores of a row are equal, A = 1/T, and ∂L/∂A_ij = dC_i·v is the same
// for all j, so
//
//   ∂L/∂S_ij = A_ij (∂L/∂A_ij - Σ_s A_is ∂L/∂A_is) = 0      ∂L/∂W_Q = ∂L/∂W_K = 0
//   ∂L/∂W_V = Σ_i (P dC)_i xᵀ ≠ 0
//
// Exactly: in numbers whose sums are exact (multiples of 1/8, T and Dh powers of 4) every bit is 0.
// In other numbers what is left is rounding. How the limit is approached, with x_j = x + ε δ_j:
// ∂L/∂S = O(ε), and Σ_j ∂L/∂S_ij k_j only sees the ε δ_j since the rows sum to 0: both O(ε²).
#include <algorithm>
#include <cmath>

#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::identical_tokens {

ProjectionGradients projection_gradients(MultiheadAttention& attention, const Tensor& x,
                                         const Tensor& dy) {
  attention.zero_grad();
  Tape tape;
  tape.backward(attention(Var(x)).y, dy);
  Index d = attention.d_model();
  for (auto& [name, p] : attention.named_parameters()) {
    if (name != "in_proj_weight") continue;
    const Tensor& grad = p.grad();
    auto part = [&](Index i) { return narrow(grad, 0, i * d, d); };
    double largest = max(abs(narrow(grad, 0, 0, 2 * d))).item();
    return {norm(part(0)), norm(part(1)), norm(part(2)), largest};
  }
  throw StateError("study", "attention without in_proj_weight");
}

Tensor eighths(const Shape& shape) {
  Tensor n = random_integers(shape, -8, 9, generator().next());
  return mul(n.to(DType::Float64), 0.125);
}

namespace {

constexpr Index kBatch = 4, kWidth = 64, kHeads = 4;
constexpr Index kExact = 16, kRounded = 15;  // tokens: 1/16 is exact, 1/15 is not

}  // namespace

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const Index batch = small ? 1 : kBatch;
  auto shape = [&](Index tokens) { return Shape{batch, tokens, kWidth}; };
  auto repeated = [&](const Tensor& token, Index tokens) {
    return broadcast_to(token, shape(tokens)).contiguous();
  };

  {  // exact numbers, in both forms
    MultiheadAttention attention(kWidth, kHeads);
    attention.to(DType::Float64);
    for (const Var& p : attention.parameters()) p.value().copy_(eighths(p.shape()));
    Tensor x = repeated(eighths({batch, 1, kWidth}), kExact), dy = eighths(shape(kExact));
    double largest = 0, value = kInf;
    for (OpForm how : {OpForm::Fused, OpForm::Explicit}) {
      UseForm use(how);
      ProjectionGradients g = projection_gradients(attention, x, dy);
      largest = std::max(largest, g.largest);
      value = std::min(value, g.value);
    }
    m.values["exact_query_key"] = largest;
    m.values["exact_value"] = value / norm(dy);
  }

  MultiheadAttention attention(kWidth, kHeads);
  Tensor token = gaussian({batch, 1, kWidth});
  Tensor others = gaussian(shape(kRounded)), dy = gaussian(shape(kRounded));
  ProjectionGradients rounded = projection_gradients(attention, repeated(token, kRounded), dy);
  m.values["float_query"] = rounded.query / rounded.value;
  m.values["float_key"] = rounded.key / rounded.value;

  attention.to(DType::Float64);
  token = token.to(DType::Float64);
  others = others.to(DType::Float64);
  dy = dy.to(DType::Float64);
  std::vector<double> spread, query, key;
  for (double epsilon : sizes<double>(small, {1e-3, 1e-2}, {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0})) {
    ProjectionGradients g =
        projection_gradients(attention, add(repeated(token, kRounded), mul(others, epsilon)), dy);
    m.curve("spread", "W_Q", epsilon, g.query / g.value);
    m.curve("spread", "W_K", epsilon, g.key / g.value);
    if (epsilon > 0.05) continue;
    spread.push_back(epsilon);
    query.push_back(g.query);
    key.push_back(g.key);
  }
  m.values["query_slope"] = fit_power_law(spread, query).slope;
  m.values["key_slope"] = fit_power_law(spread, key).slope;
  ProjectionGradients apart = projection_gradients(attention, others, dy);
  m.values["control"] = std::min(apart.query, apart.key) / apart.value;
  return m;
}

}  // namespace glim::identical_tokens
