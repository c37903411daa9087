// hello: y = x²
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

Functions hello() {
  return value_and_gradient("square", "double", [](const Json& input) -> Problem {
    Var x = leaf_of(input);
    return {{x}, [x] { return x * x; }};
  });
}

}  // namespace glim::gradbench
