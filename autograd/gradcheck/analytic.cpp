#include "autograd/gradcheck/analytic.hpp"

#include <cstring>

#include "autograd/tape.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim::detail {
namespace {

// 1 at element i, zeros elsewhere.
Tensor unit(const Var& y, Index i) {
  Tensor e = zeros(y.shape(), y.dtype());
  narrow(reshape(e, {-1}), 0, i, 1).fill_(1);
  return e;
}

// A forward with every element moved. Its copies live on: what it left behind may be views of them.
Point forward_with_all_moved(const Subject& subject) {
  Point there(subject, false);
  for (std::size_t k = 0; k < subject.values.size(); ++k)
    if (subject.checked[k])
      there.move_all(
          k, [&](Index j) { return 0x1p-6 * std::max(1.0, std::abs(there.element(k, j))); });
  there.evaluate();
  return there;
}

}  // namespace

bool same_doubles(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool operator==(const Analytic& a, const Analytic& b) {
  bool same = same_doubles(a.values, b.values);
  for (std::size_t i = 0; i < a.along_u.size(); ++i)
    same = same && same_doubles(a.along_u[i], b.along_u[i]);
  return same;
}

Analytic analytic(const Subject& subject, std::uint64_t seed, bool rows, bool forward_elsewhere) {
  SameRandom same;
  Tape tape;
  std::vector<Var> xs, leaves;
  std::vector<Var> ys = subject.run(subject.values, xs, true);
  Analytic r;
  for (std::size_t k = 0; k < xs.size() && k < subject.checked.size(); ++k)
    if (subject.checked[k]) leaves.push_back(xs[k]);
  r.values = flatten(ys);
  std::optional<Point> elsewhere;
  if (forward_elsewhere) {
    elsewhere.emplace(forward_with_all_moved(subject));
    // A closure's leaves hold what it ran with last.
    for (std::size_t k = 0; k < subject.values.size(); ++k)
      if (xs[k].is_leaf()) xs[k].leaf().value = subject.values[k];
  }
  r.along_u.resize(leaves.size());
  r.rows.resize(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    r.along_u[i].assign(static_cast<std::size_t>(leaves[i].numel()), 0.0);
  auto gradients = [&](const Var& y, const Tensor& dy, auto&& use) {
    std::vector<Var> d = tape.grad(y, leaves, dy, {.retain = true});
    for (std::size_t i = 0; i < d.size(); ++i) use(i, flatten({d[i]}));
  };
  for (std::size_t o = 0; o < ys.size(); ++o) {
    r.output_shapes.push_back(ys[o].shape());
    gradients(ys[o], random_like(ys[o].value(), upstream_key(seed, o)),
              [&](std::size_t i, const std::vector<double>& d) {
                for (std::size_t j = 0; j < d.size(); ++j) r.along_u[i][j] += d[j];
              });
    for (Index row = 0; rows && row < ys[o].numel(); ++row)
      gradients(ys[o], unit(ys[o], row), [&](std::size_t i, const std::vector<double>& d) {
        r.rows[i].insert(r.rows[i].end(), d.begin(), d.end());
      });
  }
  return r;
}

}  // namespace glim::detail
