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

  // The nearest centroid of each point, by |c|² - 2 p·c, in blocks of points that fit the cache.
  Tensor nearest() const {
    Var c = centroids.detach(), squares = sum(c * c, {1});
    Vars found;
    for (Index begin = 0; begin < points.size(0); begin += 256)
      found.push_back(argmin(linear(mul(slice(points, 0, begin, begin + 256), -2), c, squares), 1));
    return concatenate(found, 0).value();
  }
  // A minimum's derivative is that of the smallest.
  Var cost() const {
    Var apart = points - index_select(centroids, 0, nearest());
    return sum(apart * apart);
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
