#include "tests/op_specs/spec.hpp"

namespace glim::specs {

Family dropout_family() {
  Family family{"dropout", {}, {}};
  auto with = [](double p) {
    return [p](const Vars& x) {
      Var y = dropout(x[0], p, {5, 6});
      return mul(y, y);
    };
  };
  family.add({"dropout", "p = 0.3", in({{4, 4}}), with(0.3)});
  family.add({"dropout", "p = 0.9", in({{4, 4}}), with(0.9)});
  family.add({"dropout", "p = 1", in({{2, 3}}), with(1)});
  family.add_empty({"dropout", "p = 0.3", {{0, 3}}, {0, 3}, with(0.3)});
  return family;
}

}  // namespace glim::specs
