// The determinant by expansion along the first row, |A| = Σ_j (-1)^j a_0j |A without row 0 and column j|, with all ℓ!
// products.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

constexpr Index kAtOnce = 8;  // rows: 8! products of a level are in the cache

Tensor signs(Index n) {  // 1, -1, 1 ...
  std::vector<double> result(n, 1);
  for (Index j = 1; j < n; j += 2) result[j] = -1;
  return from_vector(result, {n});
}

// The expansion of rows 0 … n-1 is a tree: a node of depth r has a child for each of n - r columns that are left. Level r
// is columns (n - r, nodes), and its transpose the nodes of the next level.
std::vector<Tensor> levels(Index n) {
  std::vector<Tensor> result;
  std::vector<std::vector<Index>> left(1, std::vector<Index>(n));  // of each node
  for (Index j = 0; j < n; ++j) left[0][j] = j;
  for (Index width = n; width > 0; --width) {
    std::vector<Index> columns;
    std::vector<std::vector<Index>> below;
    for (Index j = 0; j < width; ++j)
      for (std::vector<Index> node : left) {
        columns.push_back(node[j]);
        node.erase(node.begin() + j);
        below.push_back(std::move(node));
      }
    result.push_back(from_vector(columns, {width, static_cast<Index>(left.size())}));
    left = std::move(below);
  }
  return result;
}

// All minors of a level at once, from the last row up.
Var expanded(const Var& a, const std::vector<Tensor>& columns) {
  const Index n = a.size(0);
  Var minors = ones({columns.back().numel()}, DType::Float64);
  for (Index r = n - 1; r >= 0; --r) {
    const Shape& shape = columns[r].shape();
    Var entries = index_select(select(a, 0, r), 0, reshape(columns[r], {-1}));
    minors = sum(reshape(entries * minors, shape) * unsqueeze(signs(n - r), 1), {0});
  }
  return reshape(minors, {});
}

Var determinant(const Var& a, const std::vector<Tensor>& columns) {
  const Index n = a.size(0);
  if (n <= kAtOnce) return expanded(a, columns);
  std::vector<Var> minors;
  for (Index j = 0; j < n; ++j) {
    std::vector<Index> others;
    for (Index k = 0; k < n; ++k)
      if (k != j) others.push_back(k);
    Var minor = index_select(narrow(a, 0, 1, n - 1), 1, from_vector(others, {n - 1}));
    auto of_minor = [=] { return determinant(minor, columns); };
    minors.push_back(n - 1 == kAtOnce ? recomputed(of_minor)
                                      : of_minor());  // the products are not kept
  }
  return sum(signs(n) * select(a, 0, 0) * stack(minors, 0));
}

}  // namespace

Functions det() {
  auto read = [](const Json& input) -> Problem {
    const Index n = input.at("ell");
    Var a = leaf_of(input.at("A"));
    return {{a}, [a, n, columns = levels(std::min(n, kAtOnce))] {
              return determinant(reshape(a, {n, n}), columns);
            }};
  };
  return {value("primal", read), gradient("gradient", read)};
}

}  // namespace glim::gradbench
