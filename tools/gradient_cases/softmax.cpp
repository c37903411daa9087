#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family softmax_family() {
  Family family{"softmax"};
  struct {
    const char* op;
    Var (*f)(const Var&, Index);
  } list[] = {
      {"softmax", [](const Var& x, Index axis) { return softmax(x, axis); }},
      {"log_softmax", [](const Var& x, Index axis) { return log_softmax(x, axis); }},
      {"logsumexp", [](const Var& x, Index axis) { return logsumexp(x, axis); }},
  };
  for (auto& s : list) {
    auto along = [f = s.f](Index axis) { return [=](const Var& x) { return f(x, axis); }; };
    family.add(s.op, "rows", {{2, 4}}, along(-1));
    family.add(s.op, "columns", {{3, 2}}, along(0));
    family.add(s.op, "inner axis", {{2, 3, 2}}, along(1));
    family.add_drawn(s.op, "large scores", uniform_in(700, 703, {{2, 3}}), along(-1));
    family.add(s.op, "one class", {{3, 1}}, beside_inputs(along(-1)));
    Shape none = std::string_view(s.op) == "logsumexp" ? Shape{0} : Shape{0, 3};
    family.add_empty(s.op, "no rows", {{0, 3}}, none, along(-1));
  }
  family.add("logsumexp", "axis kept", {{2, 3}},
             [](const Var& x) { return logsumexp(x, 0, true); });

  auto masked = [](const Tensor& keep) {
    return [=](const Var& x) { return masked_softmax(x, keep); };
  };
  // The last row keeps nothing: zeros, and no gradient.
  Tensor keep =
      from_vector<bool>({true, false, true, true, true, true, false, false, false}, {3, 3});
  Tensor keys = from_vector<bool>({true, true, false}, {3});
  family.add("masked_softmax", "rows", {{3, 3}}, masked(keep));
  family.add("masked_softmax", "keep broadcast", {{2, 2, 3}}, masked(keys));
  family.add_empty("masked_softmax", "no rows", {{0, 3}}, {0, 3}, masked(keys));
  return family;
}

}  // namespace glim::specs
