#include "tools/gradient_cases/spec.hpp"

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
  family.add({"dropout", "p = 1", in({{2, 3}}), beside_inputs(with(1))});
  family.add_empty({"dropout", "p = 0.3", {{0, 3}}, {0, 3}, with(0.3)});
  auto onto = [](double p) {
    return [p](const Vars& x) {
      Var y = add_dropout(x[0], x[1], p, {5, 7});
      return mul(y, y);
    };
  };
  family.add({"add_dropout", "p = 0.3", in({{4, 4}, {4, 4}}), onto(0.3), false, 0, true});
  family.add({"add_dropout", "a batch", in({{2, 3, 2}, {2, 3, 2}}), onto(0.6), false, 0, true});
  family.add_empty({"add_dropout", "p = 0.3", {{0, 3}, {0, 3}}, {0, 3}, onto(0.3)});
  return family;
}

}  // namespace glim::specs
