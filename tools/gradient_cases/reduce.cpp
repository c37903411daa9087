#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family reduce() {
  Family family{"reduce"};
  auto one = [&](const char* op, const char* name, const Shape& shape,
                 std::function<Var(const Var&)> f, int expand_axis = 0) {
    family.add(op, name, {shape}, f).with_expanded(expand_axis);
  };
  auto largest = [](const Var& x) { return max(x); };
  auto least = [](const Var& x) { return min(x); };
  one("sum", "all", {2, 3}, [](const Var& x) { return sum(mul(x, x)); });
  one("sum", "one axis", {2, 3, 2}, [](const Var& x) { return sum(mul(x, x), {1}); });
  one("sum", "two axes, kept", {2, 3, 2}, [](const Var& x) {
    return sum(mul(x, x), {-1, 0}, true);
  });
  one("sum", "of a scalar", {}, [](const Var& x) { return sum(x); });
  one("mean", "all", {2, 3}, [](const Var& x) { return mean(mul(x, x)); });
  one("mean", "one axis", {2, 3}, [](const Var& x) { return mean(mul(x, x), {0}, true); });
  one("var", "all", {2, 3}, [](const Var& x) { return var(x); });
  one("var", "rows, population", {2, 4}, [](const Var& x) { return var(x, {-1}, 0, true); });
  one("max", "all", {2, 3}, largest, -1);
  one("max", "rows", {2, 4}, [](const Var& x) { return max(x, {1}); });
  one(
      "max", "columns, kept", {3, 2}, [](const Var& x) { return max(x, {0}, true); }, 1);
  one("min", "all", {2, 3}, least, -1);
  one("min", "rows", {2, 4}, [](const Var& x) { return min(x, {-1}); });
  family.add_drawn("max", "ties", exactly({1, 2, 2, 0}), beside_inputs(largest))
      .with_kinks()
      .with_expanded(-1);
  family.add_drawn("min", "ties", exactly({0, 2, 0, 0}), beside_inputs(least))
      .with_kinks()
      .with_expanded(-1);

  auto empty = [&](const char* op, const char* name, const Shape& shape, const Shape& output,
                   Var (*f)(const Var&)) { family.add_empty(op, name, {shape}, output, f); };
  empty("sum", "all", {0, 3}, {}, [](const Var& x) { return sum(x); });
  empty("sum", "to nothing", {0, 3}, {0}, [](const Var& x) { return sum(x, {1}); });
  empty("sum", "of nothing", {0, 3}, {3}, [](const Var& x) { return sum(x, {0}); });
  empty("mean", "to nothing", {0, 3}, {0, 1}, [](const Var& x) { return mean(x, {1}, true); });
  empty("var", "to nothing", {0, 3}, {0}, [](const Var& x) { return var(x, {1}); });
  empty("max", "to nothing", {0, 3}, {0}, [](const Var& x) { return max(x, {1}); });
  empty("min", "to nothing", {0, 3}, {0}, [](const Var& x) { return min(x, {1}); });
  return family;
}

}  // namespace glim::specs
