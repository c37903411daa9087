//   x̂ = (x - μ)/σ, σ = √(var + ε)      y = γ x̂ + β      over the last axis (Ba et al. 2016, eq. 4)
#include "autograd/ops.hpp"

namespace glim {

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps, Where where) {
  Var centered = named(sub(x, mean(x, {-1}, true, where), where), "centered");
  Var deviation = sqrt(add(mean(mul(centered, centered, where), {-1}, true, where), eps, where));
  Var y = named(div(centered, deviation, where), "normalized");
  if (gamma.defined()) y = mul(y, gamma, where);
  if (beta.defined()) y = add(y, beta, where);
  return y;
}

}  // namespace glim
