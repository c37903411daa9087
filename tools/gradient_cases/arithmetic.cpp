#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family arithmetic() {
  Family family{"arithmetic", {}, {}};
  struct {
    const char* name;
    Var (*f)(const Operand&, const Var&);
    double low;
  } binary[] = {{"add", add, -2}, {"sub", sub, -2}, {"mul", mul, -2}, {"div", div, 0.5}};
  for (auto& b : binary) {
    auto f = [f = b.f](const Vars& x) { return f(x[0], x[1]); };
    family.add({b.name, "one shape", uniform_in(b.low, 2, {{2, 3}, {2, 3}}), f});
    family.add({b.name, "scalars", uniform_in(b.low, 2, {{}, {}}), f});
    family.add({b.name, "row broadcast", uniform_in(b.low, 2, {{2, 3}, {3}}), f});
    family.add({b.name, "column broadcast", uniform_in(b.low, 2, {{2, 1}, {2, 3}}), f});
    family.add({b.name, "both broadcast", uniform_in(b.low, 2, {{2, 1, 3}, {2, 1}}), f});
    family.add_empty({b.name, "one shape", {{0, 3}, {0, 3}}, {0, 3}, f});
    family.add_empty({b.name, "broadcast", {{2, 0}, {2, 1}}, {2, 0}, f});
  }
  auto larger = [](const Vars& x) { return maximum(x[0], x[1]); };
  auto smaller = [](const Vars& x) { return minimum(x[0], x[1]); };
  family.add({"maximum", "one shape", in({{2, 3}, {2, 3}}), larger, false, -1});
  family.add({"maximum", "broadcast", in({{2, 3}, {3}}), larger});
  family.add({"minimum", "one shape", in({{2, 3}, {2, 3}}), smaller, false, -1});
  family.add({"minimum", "broadcast", in({{2, 3}, {2, 1}}), smaller});
  family.add({"maximum", "ties",
              [](std::uint64_t) {
                return std::vector<Tensor>{tensor({1, 2, 0}, DType::Float64),
                                           tensor({1, 3, 0}, DType::Float64)};
              },
              beside_inputs(larger), true, -1});
  family.add_empty({"maximum", "one shape", {{3, 0}, {3, 0}}, {3, 0}, larger});
  family.add_empty({"minimum", "one shape", {{3, 0}, {3, 0}}, {3, 0}, smaller});

  struct {
    const char* op;
    const char* name;
    Var (*f)(const Var&);
    double low;
  } unary[] = {
      {"shift", "x + 1.5", [](const Var& x) { return add(x, 1.5); }, -2},
      {"scale", "-2.5 x", [](const Var& x) { return mul(x, -2.5); }, -2},
      {"scale", "0 x, beside x", [](const Var& x) { return mul(x, 0.0) + x; }, -2},
      {"divide", "x / -2.5", [](const Var& x) { return div(x, -2.5); }, -2},
      {"div", "-2.5 / x", [](const Var& x) { return div(-2.5, x); }, 0.5},
      {"neg", "-x", [](const Var& x) { return neg(x); }, -2},
      {"pow", "x^3", [](const Var& x) { return pow(x, 3); }, -2},
      {"pow", "x^1.5", [](const Var& x) { return pow(x, 1.5); }, 0.5},
      {"pow", "x^-2", [](const Var& x) { return pow(x, -2); }, 0.5},
      {"pow", "x^1", [](const Var& x) { return pow(x, 1); }, -2},
      {"pow", "x^0, beside x", [](const Var& x) { return pow(x, 0) + x; }, -2},
  };
  for (auto& u : unary) {
    auto f = [f = u.f](const Vars& x) { return f(x[0]); };
    family.add({u.op, u.name, uniform_in(u.low, 2, {{2, 3}}), f});
    family.add_empty({u.op, u.name, {{0, 3}}, {0, 3}, f});
  }
  family.add({"pow", "x^2 at 0", exactly({0, 1, 0}),
              beside_inputs([](const Vars& x) { return pow(x[0], 2); })});

  Tensor pattern = from_vector<bool>({true, false, true, false, false, true}, {2, 3});
  Tensor row = from_vector<bool>({true, false, true}, {3});
  family.add({"where", "one shape", in({{2, 3}, {2, 3}}),
              [=](const Vars& x) { return where(pattern, x[0], x[1]); }});
  family.add({"where", "condition broadcast", in({{2, 3}, {2, 3}}),
              [=](const Vars& x) { return where(row, x[0], x[1]); }});
  family.add({"where", "all broadcast", in({{2, 1}, {}}),
              [=](const Vars& x) { return where(row, x[0], x[1]); }});
  family.add_empty({"where", "broadcast", {{0, 3}, {3}}, {0, 3}, [=](const Vars& x) {
                      return where(row, x[0], x[1]);
                    }});
  return family;
}

}  // namespace glim::specs
