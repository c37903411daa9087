#include "tools/benchmarks/gradbench/descent.hpp"

#include <cmath>
#include <optional>

namespace glim::gradbench {
namespace {

double length(const Tensor& x) { return std::sqrt(sum(mul(x, x)).item()); }

}  // namespace

Var slope(const Scalar& f, Var x, Mode mode) {
  const bool recorded = Tape::current();
  std::optional<Tape> temporary;
  if (!recorded) temporary.emplace();
  Tape& tape = *Tape::current();
  if (!x.requires_grad()) x = Var::leaf(x.value());
  Var y = f(x), result;
  if (mode == Mode::Reverse) {
    result = tape.grad(y, {x}, {}, {.create_graph = recorded})[0];
  } else {
    const Tensor one = eye(x.numel(), x.dtype());
    Vars basis;
    for (Index i = 0; i < x.numel(); ++i) basis.push_back(reshape(select(one, 0, i), x.shape()));
    result = reshape(stack(forward_products(tape, y, x, basis, recorded), 0), x.shape());
  }
  return recorded ? result : result.detach();
}

Var lowest(const Scalar& f, Var x, Mode mode) {
  Var y = f(x), g = slope(f, x, mode);
  double rate = 1e-5;
  int steps = 0;
  while (length(g.value()) > 1e-5) {
    if (steps == 10) {
      rate *= 2;
      steps = 0;
    }
    Var next = x - rate * g;
    if (length(sub(x.value(), next.value())) <= 1e-5) break;
    Var next_y = f(next);
    if (next_y.item() < y.item()) {
      x = next;
      y = next_y;
      g = slope(f, x, mode);
      ++steps;
    } else {
      rate /= 2;
      steps = 0;
    }
  }
  return x;
}

Functions nested(const std::function<Tensor(const Json& input, Mode outer, Mode inner)>& run) {
  Functions result;
  for (std::string name : {"rr", "ff", "fr", "rf"}) {
    auto mode = [](char c) { return c == 'r' ? Mode::Reverse : Mode::Forward; };
    auto prepare = [=](const Json& input) {
      return [=] { return Tensors{run(input, mode(name[0]), mode(name[1]))}; };
    };
    result.push_back({name, prepare, first});
  }
  return result;
}

}  // namespace glim::gradbench
