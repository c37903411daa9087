// information: what the first gradient of attention says about which token a token was drawn from.
//
// Nichani, Damian & Lee 2024 (arXiv 2402.14735). Positions 1 … T form a random forest, the same for all prompts. Each prompt
// draws a transition π (S × S) with stationary distribution μ. A root is drawn from μ, another token s_i from π(s_p(i), ·).
// The prompt ends in a query q, and the next token is drawn from π(q, ·). Two attentions can predict it:
//
//   h_i = Σ_j softmax(A)_ij x_j          x one-hot (T, S); A (T, T) is learned, j ≤ i
//   f = Σ_i softmax(β qᵀh)_i x_i         i attends to its parent: where the parent is q, s_i was drawn from π(q, ·)
//   L = -Σ_s π(q, s) ln(f_s + ε)
//
// At A = 0 row i of -∂L/∂A is, up to a factor and a constant,
//
//   overlap   g_ij = E_π Σ_{s,s'} P(s_j = s, s_i = s') π(s, s')/μ(s') - 1
//   χ²        I_ij = E_π Σ_{s,s'} P(s_j = s, s_i = s')²/(μ(s) μ(s')) - 1
//
// for j = p(i) the same number. For other j the two differ: χ² is how much s_j says about s_i, the overlap how much
// their joint distribution is like that of a parent and a child.
#include <algorithm>
#include <optional>

#include "autograd/ops.hpp"
#include "nn/attention/mask.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/portable.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::information {
namespace {

constexpr Index kSymbols = 5, kBatch = 500;
using Square = std::vector<double>;  // (S, S)

Square product(const Square& a, const Square& b) {
  Square c(a.size());
  for (Index i = 0; i < kSymbols; ++i)
    for (Index k = 0; k < kSymbols; ++k)
      for (Index j = 0; j < kSymbols; ++j)
        c[static_cast<std::size_t>(i * kSymbols + j)] +=
            a[static_cast<std::size_t>(i * kSymbols + k)] *
            b[static_cast<std::size_t>(k * kSymbols + j)];
  return c;
}

struct Chain {
  Square transition;               // rows are uniform on the simplex
  std::vector<double> stationary;  // a row of a high power
};
Chain chain(RandomKey key) {
  Chain c{Square(kSymbols * kSymbols), {}};
  for (Index s = 0; s < kSymbols; ++s) {
    double total = 0;
    for (Index i = s * kSymbols; i < (s + 1) * kSymbols; ++i)
      total += c.transition[static_cast<std::size_t>(i)] =
          -portable::log(1 - uniform_at(key, static_cast<std::uint64_t>(i)));
    for (Index i = s * kSymbols; i < (s + 1) * kSymbols; ++i)
      c.transition[static_cast<std::size_t>(i)] /= total;
  }
  Square power = c.transition;
  for (int doubled = 0; doubled < 8; ++doubled) power = product(power, power);
  c.stationary.assign(power.begin(), power.begin() + kSymbols);
  return c;
}

Index drawn(const double* p, double u) {
  Index s = 0;
  for (double below = p[0]; below < u && s + 1 < kSymbols; below += p[s]) ++s;
  return s;
}

// The steps up from both positions to their nearest common ancestor.
std::optional<std::pair<int, int>> steps_up(const std::vector<Index>& parents, Index i, Index j) {
  std::pair<int, int> steps{0, 0};
  while (i != j) {
    Index& later = i > j ? i : j;
    ++(i > j ? steps.first : steps.second);
    later = parents[static_cast<std::size_t>(later)];
    if (later < 0) return {};
  }
  return steps;
}

}  // namespace

std::vector<Index> forest(std::uint64_t seed, Index length) {
  std::vector<Index> parents{-1};
  for (Index i = 1; i < length; ++i) {
    // A fifth are roots, but never the last.
    const double u =
        uniform_at({seed, 1}, static_cast<std::uint64_t>(i)) * (i + 1 < length ? 1.25 : 1);
    parents.push_back(u < 1 ? static_cast<Index>(u * static_cast<double>(i)) : -1);
  }
  return parents;
}

Pairs expected(const std::vector<Index>& parents, std::uint64_t seed, Index chains) {
  const std::size_t n = parents.size();
  Pairs pairs{std::vector<double>(n * n), std::vector<double>(n * n)};
  for (Index k = 0; k < chains; ++k) {
    const Chain c = chain({seed, 1000 + static_cast<std::uint64_t>(k)});
    std::vector<Square> powers{Square(kSymbols * kSymbols)};
    for (std::size_t s = 0; s < kSymbols; ++s) powers[0][s * kSymbols + s] = 1;
    while (powers.size() < n) powers.push_back(product(powers.back(), c.transition));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const auto up = steps_up(parents, static_cast<Index>(i), static_cast<Index>(j));
        if (!up) continue;  // independent: 0
        double square = 0, overlap = 0;
        for (std::size_t s = 0; s < kSymbols; ++s)
          for (std::size_t t = 0; t < kSymbols; ++t) {  // s_j = s, s_i = t
            const double apart = c.stationary[s] * c.stationary[t];
            double joint = 0;
            for (std::size_t r = 0; r < kSymbols; ++r)
              joint += c.stationary[r] *
                       powers[static_cast<std::size_t>(up->first)][r * kSymbols + t] *
                       powers[static_cast<std::size_t>(up->second)][r * kSymbols + s];
            square += joint * joint / apart;
            overlap += joint * c.transition[s * kSymbols + t] / c.stationary[t];
          }
        pairs.chi_square[i * n + j] += (square - 1) / static_cast<double>(chains);
        pairs.overlap[i * n + j] += (overlap - 1) / static_cast<double>(chains);
      }
  }
  return pairs;
}

std::vector<double> first_gradient(const std::vector<Index>& parents, RandomKey key,
                                   Index batches) {
  const Index length = std::ssize(parents);
  const Var a = Var::leaf(zeros({length, length}, DType::Float64), "A");
  Tensor total = zeros(a.shape(), DType::Float64);
  for (Index batch = 0; batch < batches; ++batch) {
    const Tensor x = zeros({kBatch, length, kSymbols}, DType::Float64),
                 query = zeros({kBatch, 1, kSymbols}, DType::Float64),
                 next = zeros({kBatch, 1, kSymbols}, DType::Float64);
    for (Index b = 0; b < kBatch; ++b) {
      const RandomKey prompt{key.seed,
                             key.stream + 2 * static_cast<std::uint64_t>(batch * kBatch + b)};
      const Chain c = chain(prompt);
      std::vector<Index> tokens;
      auto row = [&](Index s) { return c.transition.data() + s * kSymbols; };
      for (Index i = 0; i < length; ++i) {
        const Index parent = parents[static_cast<std::size_t>(i)];
        tokens.push_back(
            drawn(parent < 0 ? c.stationary.data() : row(tokens[static_cast<std::size_t>(parent)]),
                  uniform_at({prompt.seed, prompt.stream + 1}, static_cast<std::uint64_t>(i))));
        x.data<double>()[(b * length + i) * kSymbols + tokens.back()] = 1;
      }
      const Index last = static_cast<Index>(
          uniform_at({prompt.seed, prompt.stream + 1}, parents.size()) * kSymbols);
      query.data<double>()[b * kSymbols + last] = 1;
      std::copy_n(row(last), kSymbols, next.data<double>() + b * kSymbols);
    }
    Tape tape;
    const Tensor nothing = zeros({kBatch, length, 1}, DType::Float64);
    const Var h = scaled_dot_product_attention(nothing, nothing, x,
                                               {reshape(causal_keep(length), {1, length, length}),
                                                reshape(a, {1, length, length})})
                      .context,
              f = scaled_dot_product_attention(query, h, x, {{}, {}, 1}).context;
    const Var loss = -sum(Var(next) * log(f + 0.05)) / static_cast<double>(kBatch * batches);
    total = total - tape.grad(loss, {a})[0].value();
  }
  return total.to_vector<double>();
}

RowMeans compare(const std::vector<Index>& parents, const std::vector<double>& gradient,
                 const std::vector<double>& other) {
  RowMeans means;
  double rows = 0, children = 0;
  const std::size_t n = parents.size();
  for (std::size_t i = 1; i < n; ++i) {
    const auto row = gradient.begin() + static_cast<std::ptrdiff_t>(i * n);
    if (parents[i] >= 0) {
      ++children;
      means.parents_largest +=
          std::max_element(row, row + static_cast<std::ptrdiff_t>(i) + 1) - row == parents[i];
    }
    std::vector<double> x, y;
    for (std::size_t j = 0; j < i; ++j)
      if (static_cast<Index>(j) != parents[i] &&
          steps_up(parents, static_cast<Index>(i), static_cast<Index>(j))) {
        x.push_back(gradient[i * n + j]);
        y.push_back(other[i * n + j]);
      }
    if (x.size() < 5) continue;
    ++rows;
    means.spearman += spearman(x, y);
    means.pearson += pearson(x, y);
  }
  means.parents_largest /= children;
  means.spearman /= rows;
  means.pearson /= rows;
  return means;
}

namespace {

struct Compared {
  std::vector<double> gradient;
  Pairs pairs;
  RowMeans by_chi, by_overlap;
  double repeated;
};
Compared compared(const std::vector<Index>& parents, std::uint64_t seed, Index batches,
                  Index chains) {
  Compared c;
  c.pairs = expected(parents, seed, chains);
  const auto first = first_gradient(parents, {seed, std::uint64_t{1} << 32}, batches),
             second = first_gradient(parents, {seed, std::uint64_t{2} << 32}, batches);
  for (std::size_t i = 0; i < first.size(); ++i) c.gradient.push_back((first[i] + second[i]) / 2);
  c.by_chi = compare(parents, c.gradient, c.pairs.chi_square);
  c.by_overlap = compare(parents, c.gradient, c.pairs.overlap);
  c.repeated = compare(parents, first, second).pearson;
  return c;
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const std::vector<Index> parents = forest(seed, 20), twice = forest(seed, 40);
  const Compared c = compared(parents, seed, small ? 2 : 400, small ? 20 : 2000);
  show_step(1, 2);
  const Compared longer = compared(twice, seed, small ? 2 : 400, small ? 20 : 500);
  m.values["parent"] = c.by_chi.parents_largest;
  m.values["order"] = c.by_chi.spearman;
  m.values["chi_pearson"] = c.by_chi.pearson;
  m.values["overlap"] = c.by_overlap.pearson;
  m.values["overlap_order"] = c.by_overlap.spearman;
  m.values["repeated"] = c.repeated;
  m.values["longer_parent"] = longer.by_chi.parents_largest;
  m.values["longer_order"] = longer.by_chi.spearman;
  m.values["longer_overlap"] = longer.by_overlap.pearson;
  for (std::size_t j = 0, n = parents.size(), i = n - 1; j < i; ++j) {
    const std::string name = static_cast<Index>(j) == parents[i] ? "parent" : "others";
    m.curve("chi", name, c.pairs.chi_square[i * n + j], c.gradient[i * n + j], CurveStyle::Points);
    m.curve("overlap", name, c.pairs.overlap[i * n + j], c.gradient[i * n + j], CurveStyle::Points);
  }
  return m;
}

}  // namespace glim::information
