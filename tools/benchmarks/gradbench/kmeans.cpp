// k-means: y = Σ_i min_j |p_i - c_j|², and Newton's step J / H. The Hessian H is diagonal, so that it is H 1, the
// derivative of Σ J.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

struct KMeans {
  Tensor points;  // (n, d)
  Var centroids;  // (k, d)
  explicit KMeans(const Json& input)
      : points(tensor_of(input.at("points"))), centroids(leaf_of(input.at("centroids"))) {}

  // A minimum's derivative is that of the smallest. |p|² is no part of the comparison.
  Var cost() const {
    Var c = centroids.detach();
    Tensor nearest = argmin(sum(c * c, {1}) - 2 * matmul(points, transpose(c)), 1);
    return sum(pow(points - index_select(centroids, 0, nearest), 2));
  }
  Tensor direction() const {
    Tape tape;
    Var J = tape.grad(cost(), {centroids}, {}, {.create_graph = true})[0];
    Var H = tape.grad(sum(J), {centroids})[0];
    return div(J.value(), H.value());
  }
};

}  // namespace

Functions kmeans() {
  return {
      {"cost",
       [](const Json& input) { return [m = KMeans(input)] { return Tensors{m.cost().value()}; }; },
       first},
      {"dir",
       [](const Json& input) { return [m = KMeans(input)] { return Tensors{m.direction()}; }; },
       first}};
}

}  // namespace glim::gradbench
