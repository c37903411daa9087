#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family products() {
  Family family{"matmul"};
  auto f = [](const Var& x, const Var& y) { return matmul(x, y); };
  family.add("matmul", "matrices", {{2, 3}, {3, 4}}, f);
  family.add("matmul", "square", {{3, 3}, {3, 3}}, f);
  family.add("matmul", "batches", {{2, 2, 3}, {2, 3, 2}}, f);
  family.add("matmul", "one matrix for all", {{2, 2, 3}, {3, 2}}, f);
  family.add("matmul", "one matrix on the left", {{2, 3}, {2, 3, 2}}, f);
  family.add("matmul", "leading axes broadcast", {{2, 1, 2, 3}, {2, 3, 2}}, f);
  family.add("matmul", "vectors", {{3}, {3}}, f);
  family.add("matmul", "matrix, vector", {{2, 3}, {3}}, f);
  family.add("matmul", "vector, matrix", {{3}, {3, 2}}, f);
  family.add("matmul", "batch, vector", {{2, 2, 3}, {3}}, f);
  family.add("matmul", "second transposed", {{2, 2, 3}, {2, 4, 3}},
             [](const Var& x, const Var& y) { return matmul(x, transpose(y)); });
  family.add("matmul", "first transposed", {{3, 2}, {3, 4}},
             [](const Var& x, const Var& y) { return matmul(transpose(x), y); });
  family.add_empty("matmul", "no rows", {{0, 3}, {3, 2}}, {0, 2}, f);
  family.add_empty("matmul", "no columns", {{2, 3}, {3, 0}}, {2, 0}, f);
  family.add_empty("matmul", "nothing to sum", {{2, 0}, {0, 3}}, {2, 3}, f);
  family.add_empty("matmul", "no batch", {{0, 2, 3}, {3, 2}}, {0, 2, 2}, f);
  family.add_empty("matmul", "batches, nothing to sum", {{2, 2, 0}, {0, 3}}, {2, 2, 3}, f);
  family.add_empty("matmul", "batches, no columns", {{2, 2, 3}, {3, 0}}, {2, 2, 0}, f);
  return family;
}

}  // namespace glim::specs
