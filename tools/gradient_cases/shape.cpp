#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family shape() {
  Family family{"shape"};
  auto one = [&](const char* op, const char* name, const Shape& shape,
                 std::function<Var(const Var&)> f) { family.add(op, name, {shape}, squared(f)); };
  one("reshape", "merge", {2, 3, 2}, [](const Var& x) { return reshape(x, {6, 2}); });
  one("reshape", "infer", {2, 6}, [](const Var& x) { return reshape(x, {3, -1, 2}); });
  one("reshape", "to a vector", {2, 3}, [](const Var& x) { return reshape(x, {-1}); });
  one("permute", "three axes", {2, 3, 2}, [](const Var& x) { return permute(x, {2, 0, 1}); });
  one("permute", "negative axes", {2, 3, 2}, [](const Var& x) { return permute(x, {-1, 0, -2}); });
  one("transpose", "the last two", {2, 2, 3}, [](const Var& x) { return transpose(x); });
  one("transpose", "first and last", {2, 2, 3}, [](const Var& x) { return transpose(x, 0, -1); });
  one("broadcast_to", "new axis", {3}, [](const Var& x) { return broadcast_to(x, {2, 3}); });
  one("broadcast_to", "inner axis", {2, 1, 3}, [](const Var& x) {
    return broadcast_to(x, {2, 2, 2, 3});
  });
  one("broadcast_to", "scalar", {}, [](const Var& x) { return broadcast_to(x, {2, 2}); });
  one("sum_to", "leading axis", {2, 3}, [](const Var& x) { return sum_to(x, {3}); });
  one("sum_to", "inner axis", {2, 3, 2}, [](const Var& x) { return sum_to(x, {2, 1, 2}); });
  one("sum_to", "scalar", {2, 3}, [](const Var& x) { return sum_to(x, {}); });
  one("slice", "range", {4, 3}, [](const Var& x) { return slice(x, 0, 1, 3); });
  one("slice", "step", {2, 7}, [](const Var& x) { return slice(x, 1, 1, 7, 3); });
  one("slice", "from the end", {2, 5}, [](const Var& x) { return slice(x, -1, -3, -1); });
  one("slice", "beyond the end", {2, 4}, [](const Var& x) { return slice(x, 1, 2, 99); });
  one("slice", "overlapping uses", {5}, [](const Var& x) {
    Var first = slice(x, 0, 0, 4);
    return mul(first, slice(x, 0, 1, 5));
  });
  one("unslice", "range", {2, 3}, [](const Var& x) { return unslice(x, {4, 3}, 0, 1); });
  one("unslice", "step", {2, 3}, [](const Var& x) { return unslice(x, {2, 8}, 1, 1, 3); });
  one("narrow", "inner axis", {2, 4, 2}, [](const Var& x) { return narrow(x, 1, 1, 2); });
  one("select", "first axis", {3, 2}, [](const Var& x) { return select(x, 0, 1); });
  one("select", "from the end", {3, 2}, [](const Var& x) { return select(x, -1, -1); });
  one("squeeze", "one axis", {2, 1, 3}, [](const Var& x) { return squeeze(x, 1); });
  one("unsqueeze", "one axis", {2, 3}, [](const Var& x) { return unsqueeze(x, -1); });
  one("tril", "diagonal", {3, 4}, [](const Var& x) { return tril(x); });
  one("tril", "below, in batches", {2, 3, 3}, [](const Var& x) { return tril(x, -1); });
  one("triu", "diagonal", {3, 4}, [](const Var& x) { return triu(x); });
  one("triu", "above", {4, 3}, [](const Var& x) { return triu(x, 1); });
  one("pad", "both sides", {2, 3}, [](const Var& x) { return pad(x, {{1, 0}, {2, 1}}, 0.5); });
  one("pad", "one more, one less", {3, 4}, [](const Var& x) { return pad(x, {{0, 0}, {-1, 2}}); });
  one("split", "three parts", {2, 6}, [](const Var& x) {
    std::vector<Var> parts = split(x, 1, {2, 2, 2});
    return mul(parts[0], add(parts[1], mul(parts[2], parts[2])));
  });
  one("concatenate", "one value twice", {2, 2}, [](const Var& x) {
    return concatenate({x, mul(x, x), x}, 1);
  });
  auto joined = [](Index axis) { return [=](const Vars& x) { return concatenate(x, axis); }; };
  family.add("concatenate", "unequal parts", {{2, 1}, {2, 3}, {2, 2}}, squared(joined(1)));
  family.add("concatenate", "first axis", {{1, 2}, {3, 2}}, squared(joined(0)));
  family.add("stack", "new axis", {{2, 3}, {2, 3}},
             squared([](const Vars& x) { return stack(x, 1); }));

  auto none = [&](const char* op, const char* name, const Shape& x, const Shape& y,
                  std::function<Var(const Var&)> f) { family.add_empty(op, name, {x}, y, f); };
  none("reshape", "to other axes", {0, 6}, {0, 2, 3}, [](const Var& x) {
    return reshape(x, {0, 2, 3});
  });
  none("permute", "three axes", {2, 0, 3}, {3, 2, 0}, [](const Var& x) {
    return permute(x, {2, 0, 1});
  });
  none("broadcast_to", "to nothing", {1, 3}, {0, 3}, [](const Var& x) {
    return broadcast_to(x, {0, 3});
  });
  none("sum_to", "from nothing", {0, 3}, {1, 3}, [](const Var& x) { return sum_to(x, {1, 3}); });
  none("slice", "empty range", {2, 3}, {2, 0}, [](const Var& x) { return slice(x, 1, 2, 2); });
  none("slice", "empty range, step", {2, 3}, {2, 0},
       [](const Var& x) { return slice(x, 1, 0, 0, 2); });
  none("slice", "of nothing", {0, 3}, {0, 2}, [](const Var& x) { return slice(x, 1, 0, 2); });
  none("unslice", "nothing", {2, 0}, {2, 3}, [](const Var& x) { return unslice(x, {2, 3}, 1, 1); });
  family.add_empty("concatenate", "with nothing", {{2, 0}, {2, 3}}, {2, 3}, joined(1));
  family.add_empty("stack", "of nothing", {{0}, {0}}, {2, 0},
                   [](const Vars& x) { return stack(x, 0); });
  none("split", "into nothing", {3}, {0}, [](const Var& x) { return split(x, 0, {0, 3})[0]; });
  none("pad", "nothing", {0, 3}, {2, 3}, [](const Var& x) { return pad(x, {{1, 1}, {0, 0}}); });
  none("pad", "all cut off", {2, 3}, {2, 0}, [](const Var& x) {
    return pad(x, {{0, 0}, {-2, -1}});
  });
  none("tril", "no rows", {0, 3}, {0, 3}, [](const Var& x) { return tril(x); });
  none("triu", "no columns", {3, 0}, {3, 0}, [](const Var& x) { return triu(x); });
  return family;
}

}  // namespace glim::specs
