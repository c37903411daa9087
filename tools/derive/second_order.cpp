#include "tools/derive/second_order.hpp"

#include "autograd/ops.hpp"
#include "tensor/random.hpp"

namespace glim::derive {
namespace {

struct GradientNames final : Observer {
  void arrived(int node, const Var& dy) override {
    const Node& target = tape()->nodes()[static_cast<std::size_t>(node)];
    const int gradient = tape()->node_of(dy);
    if (target.label.empty() || gradient < 0 ||
        !tape()->nodes()[static_cast<std::size_t>(gradient)].label.empty())
      return;
    glim::named(dy, "d" + std::string(target.label));
  }
};

}  // namespace

Var along_directions(const Var& y, const Var& dy, const std::vector<Var>& xs,
                     const std::vector<Var>& vs) {
  Tape& tape = *Tape::current();
  GradientNames observer;
  tape.observe(observer);
  const std::vector<Var> gradients = tape.grad(y, xs, dy, {.create_graph = true});
  observer.stop();
  Var slope;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const Var part = sum(gradients[k] * vs[k]);
    slope = slope.defined() ? slope + part : part;
  }
  return named(slope, "dL");
}

Var along_directions(const Var& loss, ConstantNames& names) {
  Tape& tape = *Tape::current();
  std::vector<Var> leaves, vs;
  for (std::size_t i = 0; i < tape.nodes().size(); ++i)
    if (tape.nodes()[i].leaf) leaves.push_back(tape.value(static_cast<int>(i)));
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const Tensor v = normal(leaves[k].shape(), 0, 1, {2, k}, leaves[k].dtype());
    names.names.emplace_back(v, "v." + leaves[k].name());
    vs.emplace_back(v);
  }
  return along_directions(loss, {}, leaves, vs);
}

}  // namespace glim::derive
