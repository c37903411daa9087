#include "autograd/gradcheck/analytic.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/ops.hpp"
#include "autograd/products.hpp"
#include "tensor/error.hpp"

namespace glim::detail {

std::vector<double> flatten(const std::vector<Var>& outputs) {
  std::vector<double> all;
  for (const Var& y : outputs)
    for (double e : y.value().to(DType::Float64).to_vector<double>()) all.push_back(e);
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

void Subject::add(std::string name, const Var& leaf) {
  names.push_back(std::move(name));
  leaves.push_back(leaf);
  values.push_back(leaf.leaf().value);
}
bool Subject::checked(std::size_t input) const {
  return leaves[input].leaf().trainable && is_floating(values[input].dtype());
}
void Subject::put(const std::vector<Tensor>& point) const {
  for (std::size_t k = 0; k < leaves.size(); ++k) leaves[k].leaf().value = point[k];
}

std::vector<double> evaluate(const Subject& subject, const std::vector<Tensor>& point,
                             Inside* inside) {
  struct Look final : Observer {
    void computed(const Formula&, const Tensor& y) override {
      for (double e : flatten({y}))
        if (std::isfinite(e)) bounds.largest = std::max(bounds.largest, std::abs(e));
    }
    void rule_begins(int) override { bounds.differentiates = true; }
    Inside bounds;
  } look;
  Restored same_random(generator());
  Tape tape;
  if (inside) tape.observe(look);
  subject.put(point);
  std::vector<double> y = flatten(subject.run(false));
  if (inside) *inside = look.bounds;
  return y;
}

std::vector<double> evaluate_unrecorded(const Subject& subject, const std::vector<Tensor>& point) {
  try {
    Restored same_random(generator());
    const NoGrad unrecorded;
    subject.put(point);
    return flatten(subject.run(false));
  } catch (const StateError&) {
    return evaluate(subject, point);
  }
}

Analytic analytic(const Subject& subject, std::uint64_t seed, bool rows, bool forward_elsewhere) {
  Restored same_random(generator());
  Tape tape;
  subject.put(subject.values);
  const std::vector<Var> ys = subject.run(true);
  Analytic r;
  r.y = flatten(ys);
  r.along_u.resize(subject.values.size());
  r.rows.resize(subject.values.size());
  std::vector<std::size_t> differentiated;
  std::vector<Var> leaves;
  for (std::size_t k = 0; k < subject.values.size(); ++k) {
    if (!subject.checked(k)) continue;
    differentiated.push_back(k);
    leaves.push_back(subject.leaves[k]);
    r.along_u[k].resize(static_cast<std::size_t>(leaves.back().numel()));
  }
  std::vector<Tensor> moved;  // lives on: what forward left behind may be views of it
  if (forward_elsewhere) {
    for (const Tensor& x : subject.values)
      moved.push_back(is_floating(x.dtype()) ? (1 + 0x1p-12) * x + 0x1p-12 : x);
    try {
      evaluate(subject, moved);
    } catch (const MemoryError&) {
      throw;
    } catch (const std::exception&) {  // the function is not defined there
    }
    subject.put(subject.values);
  }
  for (std::size_t o = 0; o < ys.size(); ++o) {
    r.output_shapes.push_back(ys[o].shape());
    const Tensor u = random_like(ys[o].value(), {seed, std::uint64_t{1} << 32 | o});
    for (double e : flatten({u})) r.u.push_back(e);
    const std::vector<Var> along_u = tape.grad(ys[o], leaves, u, {.retain = true});
    for (std::size_t i = 0; i < differentiated.size(); ++i) {
      std::vector<double>& sum = r.along_u[differentiated[i]];
      const std::vector<double> d = flatten({along_u[i]});
      std::transform(d.begin(), d.end(), sum.begin(), sum.begin(), std::plus<>());
    }
    if (!rows) continue;
    each_gradient(tape, ys[o], leaves, [&](Index, const std::vector<Var>& row) {
      for (std::size_t i = 0; i < differentiated.size(); ++i)
        for (double e : flatten({row[i]})) r.rows[differentiated[i]].push_back(e);
    });
  }
  return r;
}

Subject gradient_of(const Subject& f, std::uint64_t seed) {
  Subject g = f;
  std::vector<Var> xs, dys;
  for (std::size_t k = 0; k < f.leaves.size(); ++k)
    if (f.checked(k)) xs.push_back(f.leaves[k]);
  {
    Restored same_random(generator());
    Tape tape;
    const std::vector<Var> ys = f.run(false);
    for (std::size_t o = 0; o < ys.size(); ++o) {
      const Tensor dy = random_like(ys[o].value(), {seed, std::uint64_t{3} << 32 | o});
      dys.push_back(Var::leaf(dy, "dy"));
      g.add(ys.size() == 1 ? "dy" : "dy" + std::to_string(o), dys.back());
    }
  }
  g.run = [run = f.run, xs, dys](bool recorded) {
    const std::vector<Var> ys = run(true);
    Var total;
    for (std::size_t o = 0; o < ys.size(); ++o) {
      const Var product = sum(ys[o] * dys[o]);
      total = total.defined() ? total + product : product;
    }
    return Tape::current()->grad(total, xs, {}, {.create_graph = recorded});
  };
  return g;
}

}  // namespace glim::detail
