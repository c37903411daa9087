#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family dropout_family() {
  Family family{"dropout"};
  auto with = [](double p) { return squared([p](const Var& x) { return dropout(x, p, {5, 6}); }); };
  family.add("dropout", "p = 0.3", {{4, 4}}, with(0.3));
  family.add("dropout", "p = 0.9", {{4, 4}}, with(0.9));
  family.add("dropout", "p = 1", {{2, 3}}, beside_inputs(with(1)));
  family.add_empty("dropout", "p = 0.3", {{0, 3}}, {0, 3}, with(0.3));
  auto onto = [](double p) {
    return squared([p](const Var& x, const Var& y) { return add_dropout(x, y, p, {5, 7}); });
  };
  family.add("add_dropout", "p = 0.3", {{4, 4}, {4, 4}}, onto(0.3)).with_explicit();
  family.add("add_dropout", "a batch", {{2, 3, 2}, {2, 3, 2}}, onto(0.6)).with_explicit();
  family.add_empty("add_dropout", "p = 0.3", {{0, 3}, {0, 3}}, {0, 3}, onto(0.3));
  return family;
}

}  // namespace glim::specs
