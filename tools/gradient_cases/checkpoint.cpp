#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family checkpoint_family() {
  Family family{"recomputed", {}, {}};
  family.add({"recomputed", "a layer", in({{2, 3}, {3, 2}}),
              [](const Vars& x) { return recomputed([=] { return tanh(matmul(x[0], x[1])); }); }});
  family.add({"recomputed", "of computed values", in({{2, 3}, {3, 2}}), [](const Vars& x) {
                Var h = exp(mul(x[0], 0.5));
                Var y = recomputed([=] { return sigmoid(matmul(h, x[1])); });
                return mul(y, sum(h));
              }});
  family.add({"recomputed", "within another", in({{2, 2}}), [](const Vars& x) {
                return recomputed([=] {
                  Var h = recomputed([=] { return sin(matmul(x[0], x[0])); });
                  return mul(h, x[0]);
                });
              }});
  family.add({"recomputed", "with dropout", in({{3, 3}}), [](const Vars& x) {
                return recomputed([=] { return exp(dropout(x[0], 0.5, generator().next())); });
              }});
  family.add_empty({"recomputed", "of nothing", {{0, 3}}, {0, 3}, [](const Vars& x) {
                      return recomputed([=] { return exp(x[0]); });
                    }});
  return family;
}

}  // namespace glim::specs
