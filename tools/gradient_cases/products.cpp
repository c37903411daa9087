#include "tools/gradient_cases/spec.hpp"

namespace glim::specs {

Family products() {
  Family family{"matmul", {}, {}};
  auto f = [](const Vars& x) { return matmul(x[0], x[1]); };
  family.add({"matmul", "matrices", in({{2, 3}, {3, 4}}), f});
  family.add({"matmul", "square", in({{3, 3}, {3, 3}}), f});
  family.add({"matmul", "batches", in({{2, 2, 3}, {2, 3, 2}}), f});
  family.add({"matmul", "one matrix for all", in({{2, 2, 3}, {3, 2}}), f});
  family.add({"matmul", "one matrix on the left", in({{2, 3}, {2, 3, 2}}), f});
  family.add({"matmul", "leading axes broadcast", in({{2, 1, 2, 3}, {2, 3, 2}}), f});
  family.add({"matmul", "vectors", in({{3}, {3}}), f});
  family.add({"matmul", "matrix, vector", in({{2, 3}, {3}}), f});
  family.add({"matmul", "vector, matrix", in({{3}, {3, 2}}), f});
  family.add({"matmul", "batch, vector", in({{2, 2, 3}, {3}}), f});
  family.add({"matmul", "second transposed", in({{2, 2, 3}, {2, 4, 3}}),
              [](const Vars& x) { return matmul(x[0], transpose(x[1])); }});
  family.add({"matmul", "first transposed", in({{3, 2}, {3, 4}}),
              [](const Vars& x) { return matmul(transpose(x[0]), x[1]); }});
  family.add_empty({"matmul", "no rows", {{0, 3}, {3, 2}}, {0, 2}, f});
  family.add_empty({"matmul", "no columns", {{2, 3}, {3, 0}}, {2, 0}, f});
  family.add_empty({"matmul", "nothing to sum", {{2, 0}, {0, 3}}, {2, 3}, f});
  family.add_empty({"matmul", "no batch", {{0, 2, 3}, {3, 2}}, {0, 2, 2}, f});
  family.add_empty({"matmul", "batches, nothing to sum", {{2, 2, 0}, {0, 3}}, {2, 2, 3}, f});
  family.add_empty({"matmul", "batches, no columns", {{2, 2, 3}, {3, 0}}, {2, 2, 0}, f});
  return family;
}

}  // namespace glim::specs
