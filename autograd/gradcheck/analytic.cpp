#include "autograd/gradcheck/analytic.hpp"

#include <cstring>

#include "autograd/ops.hpp"

namespace glim::detail {
namespace {

// 1 at element i, zeros elsewhere.
Tensor unit(const Var& y, Index i) {
  Tensor e = zeros(y.shape(), y.dtype());
  narrow(reshape(e, {-1}), 0, i, 1).fill_(1);
  return e;
}

}  // namespace

std::vector<double> flatten(const std::vector<Var>& outputs) {
  std::vector<double> all;
  for (const Var& y : outputs) {
    const std::vector<double> one = y.value().to(DType::Float64).to_vector<double>();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

Shape unravel(const Shape& shape, Index i) {
  Shape index = shape;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    index[a] = i % shape[a];
    i /= shape[a];
  }
  return index;
}

std::vector<Var> floating_only(std::vector<Var> outputs) {
  std::erase_if(outputs, [](const Var& y) { return !is_floating(y.dtype()); });
  return outputs;
}

bool same_doubles(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

Tensor random_like(const Tensor& y, RandomKey key) {
  const Tensor r = uniform(y.shape(), 0, 1, key, DType::Float64);
  return where(less(r, 0.5), -2 * r + -0.5, 2 * r + -0.5).to(y.dtype());
}

std::vector<double> evaluate(const Subject& subject, const std::vector<Tensor>& at,
                             double* largest) {
  struct Largest final : Observer {
    void computed(const Formula&, const Tensor& y) override {
      for (double e : flatten({y}))
        if (std::isfinite(e)) value = std::max(value, std::abs(e));
    }
    double value = 0;
  } seen;
  SameRandom same;
  Tape tape;
  if (largest) tape.observe(seen);
  std::vector<Var> xs;
  std::vector<double> y = flatten(subject.run(at, xs, false));
  if (largest) *largest = seen.value;
  return y;
}

Analytic analytic(const Subject& subject, std::uint64_t seed, bool rows, bool forward_elsewhere) {
  SameRandom same;
  Tape tape;
  std::vector<Var> xs, leaves;
  const std::vector<Var> ys = subject.run(subject.values, xs, true);
  Analytic r;
  r.y = flatten(ys);
  r.along_u.resize(subject.values.size());
  r.rows.resize(subject.values.size());
  std::vector<std::size_t> wanted;
  for (std::size_t k = 0; k < subject.values.size(); ++k) {
    if (!subject.checked[k]) continue;
    wanted.push_back(k);
    leaves.push_back(xs[k]);
    r.along_u[k].resize(static_cast<std::size_t>(xs[k].numel()));
  }
  std::vector<Tensor> moved;  // lives on: what forward left behind may be views of it
  if (forward_elsewhere) {
    for (const Tensor& x : subject.values)
      moved.push_back(is_floating(x.dtype()) ? (1 + 0x1p-6) * x + 0x1p-6 : x);
    evaluate(subject, moved);
    // A closure's leaves hold what it ran with last.
    for (std::size_t k = 0; k < xs.size(); ++k)
      if (xs[k].is_leaf()) xs[k].leaf().value = subject.values[k];
  }
  for (std::size_t o = 0; o < ys.size(); ++o) {
    r.output_shapes.push_back(ys[o].shape());
    auto gradients = [&](const Tensor& dy) {
      return tape.grad(ys[o], leaves, dy, {.retain = true});
    };
    const Tensor u = random_like(ys[o].value(), {seed, std::uint64_t{1} << 32 | o});
    for (double e : flatten({u})) r.u.push_back(e);
    const std::vector<Var> along_u = gradients(u);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::vector<double>& sum = r.along_u[wanted[i]];
      const std::vector<double> d = flatten({along_u[i]});
      std::transform(d.begin(), d.end(), sum.begin(), sum.begin(), std::plus<>());
    }
    for (Index row = 0; rows && row < ys[o].numel(); ++row) {
      const std::vector<Var> d = gradients(unit(ys[o], row));
      for (std::size_t i = 0; i < wanted.size(); ++i)
        for (double e : flatten({d[i]})) r.rows[wanted[i]].push_back(e);
    }
  }
  return r;
}

Subject gradient_of(const Subject& f, std::uint64_t seed) {
  Subject g = f;
  const std::size_t n = f.values.size();
  {
    SameRandom same;
    Tape tape;
    std::vector<Var> xs;
    const std::vector<Var> ys = f.run(f.values, xs, false);
    for (std::size_t o = 0; o < ys.size(); ++o) {
      g.names.push_back(ys.size() == 1 ? "dy" : "dy" + std::to_string(o));
      g.values.push_back(random_like(ys[o].value(), {seed, std::uint64_t{3} << 32 | o}));
      g.checked.push_back(true);
    }
  }
  g.run = [f, n](const std::vector<Tensor>& at, std::vector<Var>& xs, bool recorded) {
    const auto middle = at.begin() + static_cast<std::ptrdiff_t>(n);
    const std::vector<Var> ys = f.run({at.begin(), middle}, xs, true);
    std::vector<Var> wanted;
    for (std::size_t k = 0; k < n; ++k)
      if (f.checked[k]) wanted.push_back(xs[k]);
    Var total;
    for (std::size_t o = 0; o < ys.size(); ++o) {
      xs.push_back(Var::leaf(at[n + o], "dy"));
      const Var product = sum(ys[o] * xs.back());
      total = total.defined() ? total + product : product;
    }
    return Tape::current()->grad(total, wanted, {}, {.create_graph = recorded});
  };
  return g;
}

}  // namespace glim::detail
