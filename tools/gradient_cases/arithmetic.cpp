#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family arithmetic() {
  Family family{"arithmetic"};
  struct {
    const char* name;
    Var (*f)(const Operand&, const Var&);
    double low;
  } binary[] = {{"add", add, -2}, {"sub", sub, -2}, {"mul", mul, -2}, {"div", div, 0.5}};
  for (auto& b : binary) {
    auto on = [&](const char* use, std::vector<Shape> shapes) {
      family.add_drawn(b.name, use, uniform_in(b.low, 2, shapes), b.f);
    };
    on("one shape", {{2, 3}, {2, 3}});
    on("scalars", {{}, {}});
    on("row broadcast", {{2, 3}, {3}});
    on("column broadcast", {{2, 1}, {2, 3}});
    on("both broadcast", {{2, 1, 3}, {2, 1}});
    family.add_empty(b.name, "one shape", {{0, 3}, {0, 3}}, {0, 3}, b.f);
    family.add_empty(b.name, "broadcast", {{2, 0}, {2, 1}}, {2, 0}, b.f);
  }
  auto larger = [](const Var& x, const Var& y) { return maximum(x, y); };
  auto smaller = [](const Var& x, const Var& y) { return minimum(x, y); };
  family.add("maximum", "one shape", {{2, 3}, {2, 3}}, larger).with_expanded(-1);
  family.add("maximum", "broadcast", {{2, 3}, {3}}, larger);
  family.add("minimum", "one shape", {{2, 3}, {2, 3}}, smaller).with_expanded(-1);
  family.add("minimum", "broadcast", {{2, 3}, {2, 1}}, smaller);
  auto partly_equal = [](std::uint64_t) {
    return std::vector<Tensor>{tensor({1, 2, 0}, DType::Float64),
                               tensor({1, 3, 0}, DType::Float64)};
  };
  family.add_drawn("maximum", "ties", partly_equal, beside_inputs(larger))
      .with_kinks()
      .with_expanded(-1);
  family.add_empty("maximum", "one shape", {{3, 0}, {3, 0}}, {3, 0}, larger);
  family.add_empty("minimum", "one shape", {{3, 0}, {3, 0}}, {3, 0}, smaller);

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
    family.add_drawn(u.op, u.name, uniform_in(u.low, 2, {{2, 3}}), u.f);
    family.add_empty(u.op, u.name, {{0, 3}}, {0, 3}, u.f);
  }
  family.add_drawn("pow", "x^2 at 0", exactly({0, 1, 0}),
                   beside_inputs([](const Var& x) { return pow(x, 2); }));

  auto power = [](const Var& x, const Var& y) { return pow(x, y); };
  auto both = [](double low, double high, const Shape& a, const Shape& b) {
    return [=](std::uint64_t seed) {  // bases above 0, exponents around 0
      return std::vector<Tensor>{uniform(a, 0.3, 2, {seed, 100}, DType::Float64),
                                 uniform(b, low, high, {seed, 101}, DType::Float64)};
    };
  };
  family.add_drawn("power", "one shape", both(0.3, 3, {2, 3}, {2, 3}), power);
  family.add_drawn("power", "row broadcast", both(-2, 3, {2, 3}, {3}), power);
  family.add_drawn("power", "both broadcast", both(-2, 3, {2, 1}, {3}), power);
  family.add("power", "2^x", {{2, 3}}, [](const Var& x) { return pow(2.0, x); });
  Tensor whole = tensor({3, 2, 1, -1, 2, 4}, DType::Float64);
  family
      .add_drawn("power", "negative bases, whole exponents", exactly({-2, -0.5, -1, -3, 1.5, -1}),
                 [=](const Var& x) { return pow(x, whole.to(x.dtype())); })
      .with_expanded(-1);
  // 0 to a power that stays above 1 has both derivatives.
  family
      .add_drawn("power", "0^2 and 0^3", exactly({0, 1, 0, 2, 0.5, 0}),
                 beside_inputs([=](const Var& x) {
                   return pow(x, abs(tensor({3, 2, 2, 1, 2, 4}, x.dtype())) + 0 * x);
                 }))
      .with_expanded(-1);
  family
      .add_drawn(
          "power", "exponent 0, beside x",
          [](std::uint64_t) {
            return std::vector<Tensor>{tensor({2, 0.5, 3}, DType::Float64),
                                       tensor({0, 1, 0}, DType::Float64)};
          },
          beside_inputs(power))
      .with_expanded(-1);
  family.add_empty("power", "broadcast", {{0, 3}, {3}}, {0, 3}, power);

  auto chosen = [](const Tensor& condition) {
    return [=](const Var& x, const Var& y) { return where(condition, x, y); };
  };
  Tensor pattern = from_vector<bool>({true, false, true, false, false, true}, {2, 3});
  Tensor row = from_vector<bool>({true, false, true}, {3});
  family.add("where", "one shape", {{2, 3}, {2, 3}}, chosen(pattern));
  family.add("where", "condition broadcast", {{2, 3}, {2, 3}}, chosen(row));
  family.add("where", "all broadcast", {{2, 1}, {}}, chosen(row));
  family.add_empty("where", "broadcast", {{0, 3}, {3}}, {0, 3}, chosen(row));
  return family;
}

}  // namespace glim::specs
