#include "tests/gradients/spec.hpp"

namespace glim::specs {

Family checkpoint_family() {
  Family family{"checkpoint", {}, {}};
  family.add({"checkpoint", "a layer", in({{2, 3}, {3, 2}}),
              [](const Vars& x) { return checkpoint([=] { return tanh(matmul(x[0], x[1])); }); }});
  family.add({"checkpoint", "of computed values", in({{2, 3}, {3, 2}}), [](const Vars& x) {
                Var h = exp(mul(x[0], 0.5));
                Var y = checkpoint([=] { return sigmoid(matmul(h, x[1])); });
                return mul(y, sum(h));
              }});
  family.add({"checkpoint", "within another", in({{2, 2}}), [](const Vars& x) {
                return checkpoint([=] {
                  Var h = checkpoint([=] { return sin(matmul(x[0], x[0])); });
                  return mul(h, x[0]);
                });
              }});
  family.add({"checkpoint", "with dropout", in({{3, 3}}), [](const Vars& x) {
                return checkpoint([=] { return exp(dropout(x[0], 0.5, generator().next())); });
              }});
  family.add_empty({"checkpoint", "of nothing", {{0, 3}}, {0, 3}, [](const Vars& x) {
                      return checkpoint([=] { return exp(x[0]); });
                    }});
  return family;
}

}  // namespace glim::specs
