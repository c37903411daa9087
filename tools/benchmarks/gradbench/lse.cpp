// LogSumExp: y = a + ln Σ e^(x_i - a), a = max x. a cancels out, so that it is a constant.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

Functions lse() {
  auto read = [](const Json& input) -> Problem {
    Var x = leaf_of(input.at("x"));
    return {{x}, [x] {
              Var a = max(x.detach());
              return a + log(sum(exp(x - a)));
            }};
  };
  return {value("primal", read), gradient("gradient", read)};
}

}  // namespace glim::gradbench
