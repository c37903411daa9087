// Least squares of a polynomial: y = ½ Σ_i (s_i - Σ_j x_j t_i^j)², t from -1 to 1 and s = sign t.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

Functions llsq() {
  auto read = [](const Json& input) -> Problem {
    Var x = leaf_of(input.at("x"));
    const Index n = input.at("n"), m = x.size(0);
    Tensor t = add(mul(arange(0, n, 1, DType::Float64), 2.0 / (n - 1)), -1), s = sign(t);
    return {{x}, [=] {
              Var factors = concatenate(
                  {ones({n, 1}, DType::Float64), broadcast_to(unsqueeze(t, 1), {n, m - 1})}, 1);
              Var powers = cumprod(factors, 1);  // t_i^j
              Var apart = s - squeeze(matmul(powers, unsqueeze(x, 1)), 1);
              return sum(apart * apart) / 2;
            }};
  };
  return {value("primal", read), gradient("gradient", read)};
}

}  // namespace glim::gradbench
