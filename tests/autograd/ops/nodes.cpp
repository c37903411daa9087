// Prints the nodes of every specification and of its recorded gradient, fused and explicit (node_order.sh).
#include <cstdio>

#include "autograd/formula.hpp"
#include "autograd/op_form.hpp"
#include "autograd/tape.hpp"
#include "tools/gradient_cases/spec.hpp"

namespace glim {
namespace {

void print_nodes(const specs::Spec& spec) {
  Tape tape;
  specs::Vars xs;
  for (const Tensor& x : spec.inputs(1)) xs.push_back(Var::leaf(x));
  Var y = spec.f(xs), dy = Var::leaf(ones(y.shape(), y.dtype()));
  tape.grad(y, xs, dy, {.create_graph = true});
  for (const Node& node : tape.nodes()) {
    std::printf("  %s %s", std::string(node.name()).c_str(), to_string(node.shape).c_str());
    for (int input : node.inputs) std::printf(" %d", input);
    std::printf("\n");
  }
}

}  // namespace
}  // namespace glim

int main() {
  using namespace glim;
  for (OpForm form : {OpForm::Fused, OpForm::Explicit})
    for (const specs::Family& family : specs::families())
      for (const specs::Spec& spec : family.specs) {
        if (form == OpForm::Explicit && !spec.fused) continue;
        std::printf("%s, %s\n", spec.op.c_str(), spec.name.c_str());
        UseForm use(form);
        print_nodes(spec);
      }
}
