#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family cumulative() {
  Family family{"cumulative"};
  auto one = [&](const char* op, const char* name, const Shape& shape,
                 std::function<Var(const Var&)> f) { family.add(op, name, {shape}, f); };
  one("cumsum", "rows", {2, 4}, [](const Var& x) { return cumsum(mul(x, x), 1); });
  one("cumsum", "from the far end", {2, 4}, [](const Var& x) { return cumsum(x * x, 1, true); });
  one("cumsum", "columns", {3, 2}, [](const Var& x) { return cumsum(x, 0); });

  auto recurrence = [](Index axis, bool reverse) {
    return [=](const Var& a, const Var& b) { return linear_recurrence(a, b, axis, reverse); };
  };
  family.add("linear_recurrence", "rows", {{2, 3}, {2, 4}}, recurrence(1, false));
  family.add("linear_recurrence", "columns, from the far end", {{2, 3}, {3, 3}},
             recurrence(0, true));
  family.add("linear_recurrence", "one element, beside a", {{2, 0}, {2, 1}}, recurrence(-1, false));

  one("cumprod", "rows", {2, 4}, [](const Var& x) { return cumprod(x, 1); });
  one("cumprod", "columns", {3, 2}, [](const Var& x) { return cumprod(x, 0); });
  family.add_drawn("cumprod", "zeros", exactly({2, 0, 3, 0, -1, 2}),
                   [](const Var& x) { return cumprod(x, 0); });
  one("logcumsumexp", "rows", {2, 4}, [](const Var& x) { return logcumsumexp(x, 1); });
  one("logcumsumexp", "columns", {3, 2}, [](const Var& x) { return logcumsumexp(x, 0); });
  family.add_drawn("logcumsumexp", "far apart", exactly({-900, 0, 700, 701, -5, 702}),
                   [](const Var& x) { return logcumsumexp(x, 0); });
  family.add("cummax", "rows", {{2, 5}}, squared([](const Var& x) { return cummax(x, 1).values; }))
      .with_expanded(0);
  family
      .add("cummin", "columns", {{4, 2}}, squared([](const Var& x) { return cummin(x, 0).values; }))
      .with_expanded(1);
  family
      .add_drawn("cummax", "ties", exactly({1, 2, 2, 0}),
                 beside_inputs([](const Var& x) { return cummax(x, 0).values; }))
      .with_kinks()
      .with_expanded(-1);

  auto none = [&](const char* op, Var (*f)(const Var&)) {
    family.add_empty(op, "of nothing", {{2, 0}}, {2, 0}, f);
  };
  none("cumsum", [](const Var& x) { return cumsum(x, 1); });
  none("cumprod", [](const Var& x) { return cumprod(x, 1); });
  none("logcumsumexp", [](const Var& x) { return logcumsumexp(x, 1); });
  none("cummax", [](const Var& x) { return cummax(x, 1).values; });
  family.add_empty("linear_recurrence", "of nothing", {{2, 0}, {2, 0}}, {2, 0},
                   recurrence(1, false));
  return family;
}

}  // namespace glim::specs
