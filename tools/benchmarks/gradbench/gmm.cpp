// Gaussian mixtures: the log posterior of k Gaussians of d dimensions with a Wishart prior, given n points x,
//
//   y = c + Σ_n ln Σ_k exp(α_k + Σ q_k - ½ |Q_k (x_n - μ_k)|²) - n ln Σ_k e^(α_k) - Σ_k (½ γ² |Q_k|² - m Σ q_k)
//
// Q_k, the root of the inverse covariance, is lower triangular with the diagonal e^(q_k) and l_k below it.
#include <numbers>

#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

// Where each element of a matrix (d, d) is in [l, e^q, 0]. l is column by column.
Tensor places(Index d) {
  const Index below = d * (d - 1) / 2;
  std::vector<Index> place(d * d, below + d);
  for (Index column = 0, next = 0; column < d; ++column) {
    place[column * d + column] = below + column;
    for (Index row = column + 1; row < d; ++row) place[row * d + column] = next++;
  }
  return from_vector(place, {d * d});
}

// The terms without parameters, of the Gaussians and of the prior.
double constant(Index d, Index k, Index n, double gamma, double m) {
  const double p = d + m + 1;
  double log_gamma = d * (d - 1) / 4.0 * std::log(std::numbers::pi);
  for (Index j = 0; j < d; ++j) log_gamma += std::lgamma((p - j) / 2);
  return k * (p * d * (std::log(gamma) - std::numbers::ln2 / 2) - log_gamma) -
         n * d / 2.0 * std::log(2 * std::numbers::pi);
}

Problem read_gmm(const Json& input) {
  const Index d = input.at("d"), k = input.at("k"), n = input.at("n");
  const double gamma = input.at("gamma"), m = input.at("m"), c = constant(d, k, n, gamma, m);
  Var x = tensor_of(input.at("x")), place = places(d), zero = zeros({k, 1}, DType::Float64);
  Var alpha = leaf_of(input.at("alpha")), mu = leaf_of(input.at("mu")), q = leaf_of(input.at("q")),
      l = Var::leaf(reshape(tensor_of(input.at("l")), {k, d * (d - 1) / 2}));
  return {{alpha, mu, q, l}, [=] {
            Var Q = index_select(concatenate({l, exp(q), zero}, 1), 1, place.value());  // (k, d²)
            Var Q_mu = matmul(reshape(Q, {k, d, d}), unsqueeze(mu, 2));                 // (k, d, 1)
            Var y = linear(x, reshape(Q, {k * d, d}), -reshape(Q_mu, {k * d}));         // (n, k d)
            Var terms = alpha + sum(q, {1}) - sum(reshape(y * y, {n, k, d}), {2}) / 2;
            Var prior = gamma * gamma / 2 * sum(Q * Q) - m * sum(q);
            return c + sum(logsumexp(terms)) - n * logsumexp(alpha) - prior;
          }};
}

}  // namespace

Functions gmm() {
  auto write = [](const Tensors& g, const Json&) -> Json {
    return {{"alpha", lists_of(g[0])},
            {"mu", lists_of(g[1])},
            {"q", lists_of(g[2])},
            {"l", lists_of(g[3])}};
  };
  return {value("objective", read_gmm), gradient("jacobian", read_gmm, write)};
}

}  // namespace glim::gradbench
