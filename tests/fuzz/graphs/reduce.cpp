#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tests/fuzz/graphs/check.hpp"

namespace glim::fuzz {
namespace {

// True if g can be computed at all: a graph that lost a step may have shapes that do not fit.
bool runs(const Graph& g) {
  try {
    NoGrad no_tape;
    return g.run().defined();
  } catch (const Error&) {
    return false;
  }
}

Graph without(Graph g, std::size_t k, int by) {  // step k, whose readers read `by`
  const int gone = static_cast<int>(k);
  g.steps.erase(g.steps.begin() + gone);
  for (Step& step : g.steps)
    for (int& input : step.inputs) input = input == gone ? by : input > gone ? input - 1 : input;
  return g;
}

// The values of all steps.
std::vector<Tensor> values(const Graph& g) {
  NoGrad no_tape;
  std::vector<Tensor> found;
  g.run([&](const Step& step, const Vars& in) {
    Var y = step.run(step.module.get(), in);
    found.push_back(y.value());
    return y;
  });
  return found;
}

Graph with_leaf(Graph g, std::size_t k) {  // in place of step k
  const Shape shape = values(g)[k].shape();
  const RandomKey key{1000 + k, 0};
  GraphLeaf leaf;
  leaf.make = [=](DType d) { return normal(shape, 0, 1, key, DType::Float32).to(d); };
  leaf.code = fmt::format("normal(Shape{{{}}}, 0, 1, {{{}u, 0}}, DType::Float32).to(dtype)",
                          list(shape), key.seed);
  leaf.var = Var::leaf(leaf.make(DType::Float64));
  g.leaves.push_back(leaf);
  return without(std::move(g), k, -static_cast<int>(g.leaves.size()));
}

// Leaves that nobody reads would be checked, too.
Graph tidy(Graph g) {
  for (std::size_t i = g.leaves.size(); i-- > 0;) {
    const int number = -1 - static_cast<int>(i);
    bool read = false;
    for (const Step& step : g.steps)
      for (int input : step.inputs) read = read || input == number;
    if (read) continue;
    g.leaves.erase(g.leaves.begin() + static_cast<std::ptrdiff_t>(i));
    for (Step& step : g.steps)
      for (int& input : step.inputs) input += input < number;
  }
  return g;
}

}  // namespace

Graph reduced(Graph graph, const Checks& checks) {
  auto smaller = [&](const Graph& g) {
    for (std::size_t k = g.steps.size(); k-- > 0;) {
      std::vector<Graph> tries;
      const auto unread = g.unread();
      if (std::find(unread.begin(), unread.end(), static_cast<int>(k)) != unread.end())
        tries.push_back(without(g, k, 0));
      else
        tries.push_back(with_leaf(g, k));
      for (int by : g.steps[k].inputs) tries.push_back(without(g, k, by));
      for (Graph& less : tries) {
        less = tidy(std::move(less));
        if (!less.steps.empty() && runs(less) && !check(less, checks).empty())
          return std::optional(std::move(less));
      }
    }
    return std::optional<Graph>();
  };
  while (auto less = smaller(graph)) graph = std::move(*less);
  return graph;
}

}  // namespace glim::fuzz
