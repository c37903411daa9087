#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family checkpoint_family() {
  Family family{"recomputed"};
  const char* op = "recomputed";
  family.add(op, "a layer", {{2, 3}, {3, 2}}, [](const Var& x, const Var& y) {
    return recomputed([=] { return tanh(matmul(x, y)); });
  });
  family.add(op, "of computed values", {{2, 3}, {3, 2}}, [](const Var& x, const Var& y) {
    Var h = exp(mul(x, 0.5));
    Var total = sum(h);
    return mul(recomputed([=] { return sigmoid(matmul(h, y)); }), total);
  });
  family.add(op, "within another", {{2, 2}}, [](const Var& x) {
    return recomputed([=] {
      Var h = recomputed([=] { return sin(matmul(x, x)); });
      return mul(h, x);
    });
  });
  family.add(op, "with dropout", {{3, 3}}, [](const Var& x) {
    return recomputed([=] { return exp(dropout(x, 0.5, generator().next())); });
  });
  family.add_empty(op, "of nothing", {{0, 3}}, {0, 3},
                   [](const Var& x) { return recomputed([=] { return exp(x); }); });
  return family;
}

}  // namespace glim::specs
