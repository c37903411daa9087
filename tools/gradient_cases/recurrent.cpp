// The element-wise steps of recurrent cells, and additive scores.
#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {
namespace {

using Cell = Var (*)(const Operand&, const Var&, const Var&, const Tensor&);

void cell_specs(Family& family, const char* op, Cell cell, Index gates, Index parts) {
  auto with = [cell](Tensor valid) {
    return [=](const Var& x, const Var& y, const Var& z) { return cell(x, y, z, valid); };
  };
  auto shapes = [&](Index batch, Index n) {
    return std::vector<Shape>{{batch, gates * n}, {batch, gates * n}, {batch, parts * n}};
  };
  Tensor some = from_vector<bool>({true, false, true}, {3});
  Tensor none = from_vector<bool>({false, false}, {2});
  family.add(op, "all valid", shapes(2, 3), with({})).with_explicit();
  family.add(op, "a row that keeps its state", shapes(3, 2), with(some)).with_explicit();
  family.add(op, "no row valid", shapes(2, 2), beside_inputs(with(none))).with_explicit();
  family.add(op, "wide", shapes(1, 17), with({})).with_explicit();  // past a vector of the kernels
  family.add_empty(op, "no rows", shapes(0, 2), {0, parts * 2}, with({}));
}

void score_specs(Family& family) {
  auto f = [](const Var& q, const Var& k, const Var& v) { return additive_scores(q, k, v); };
  const char* op = "additive_scores";
  family.add(op, "two sentences", {{2, 2, 3}, {2, 3, 3}, {3}}, f).with_explicit();
  family.add(op, "one query", {{2, 1, 2}, {2, 3, 2}, {2}}, f).with_explicit();
  family.add(op, "wide", {{1, 2, 17}, {1, 1, 17}, {17}}, f).with_explicit();
  // The gradient of a masked score is 0, which the kernel leaves out.
  Tensor keep = from_vector<bool>({true, false, true, true, true, false}, {2, 1, 3});
  auto masked = [=](const Var& q, const Var& k, const Var& v) {
    return masked_softmax(additive_scores(q, k, v), keep);
  };
  family.add("additive attention", "masked", {{2, 2, 2}, {2, 3, 2}, {2}}, masked).with_explicit();
  family.add_empty(op, "no queries", {{2, 0, 3}, {2, 4, 3}, {3}}, {2, 0, 4}, f);
  family.add_empty(op, "no keys", {{2, 3, 3}, {2, 0, 3}, {3}}, {2, 3, 0}, f);
  family.add_empty(op, "no sentences", {{0, 3, 3}, {0, 4, 3}, {3}}, {0, 3, 4}, f);
}

}  // namespace

Family recurrent() {
  Family family{"recurrent"};
  cell_specs(family, "gru_cell", gru_cell, 3, 1);
  cell_specs(family, "lstm_cell", lstm_cell, 4, 2);
  score_specs(family);
  return family;
}

}  // namespace glim::specs
