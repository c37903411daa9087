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
// is columns (nodes, n - r), and a node's children are next to each other.
std::vector<Tensor> levels(Index n) {
  std::vector<Tensor> result;
  std::vector<Index> left(n);
  for (Index j = 0; j < n; ++j) left[j] = j;
  for (Index width = n; width > 0; --width) {
    const Index nodes = static_cast<Index>(left.size()) / width;
    result.push_back(from_vector(left, {nodes, width}));
    std::vector<Index> below;
    for (Index at = 0; at < nodes * width; ++at)
      for (Index j = at / width * width; j < (at / width + 1) * width; ++j)
        if (j != at) below.push_back(left[j]);
    left = std::move(below);
  }
  return result;
}

// All minors of a level at once, from the last row up.
Var expanded(const Var& a, const std::vector<Tensor>& columns) {
  const Index n = a.size(0);
  Var minors;
  for (Index r = n - 1; r >= 0; --r) {
    const Index width = n - r;
    Var row = select(a, 0, r),
        at = reshape(index_select(row, 0, reshape(columns[r], {columns[r].numel()})),
                     columns[r].shape());
    minors =
        sum(minors.defined() ? at * signs(width) * reshape(minors, columns[r].shape()) : at, {1});
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
