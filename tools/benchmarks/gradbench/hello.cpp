// hello: y = x²
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

Functions hello() {
  auto read = [](const Json& input) -> Problem {
    Var x = leaf_of(input);
    return {{x}, [x] { return x * x; }};
  };
  return {value("square", read), gradient("double", read)};
}

}  // namespace glim::gradbench
