#include "optim/muon.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

NamedParameters joined(NamedParameters matrices, const NamedParameters& others) {
  matrices.insert(matrices.end(), others.begin(), others.end());
  return matrices;
}

AdamOptions adam_options(const MuonOptions& o, AdamOptions adam) {
  adam.rate = o.rate, adam.weight_decay = o.weight_decay, adam.decay_matrices_only = true;
  return adam;
}

}  // namespace

Muon::Muon(const NamedParameters& matrices, MuonOptions options, const NamedParameters& others,
           AdamOptions adam)
    : Adam(joined(matrices, others), adam_options(options, adam), true), options_(options) {
  for (const auto& [name, parameter] : matrices) {
    if (parameter.rank() != 2)
      throw ValueError("muon", name + " is no matrix: give it to another optimizer",
                       {{"parameter", parameter.value()}});
    matrices_.insert(name);
  }
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw ValueError("muon", "momentum must be in [0, 1)");
  require_in_dtypes("momentum", options.momentum);
  if (options.steps < 0 || options.steps > 99) throw ValueError("muon", "steps must be 0 to 99");
  for (double c : options.coefficients)
    if (!std::isfinite(c)) throw ValueError("muon", "a coefficient is not finite");
  if (!(std::isfinite(options.eps) && options.eps >= 0))
    throw ValueError("muon", "eps must be finite and not negative");
}

Tensor Muon::orthogonal(const Tensor& u, const MuonOptions& o) {
  const bool tall = u.size(0) > u.size(1);
  Tensor x = tall ? transpose(u) : u;
  x = div(x, std::max(std::sqrt(dot(x, x)), o.eps));
  const auto [a, b, c] = o.coefficients;
  for (Index i = 0; i < o.steps; ++i) {
    const Tensor gram = matmul(x, transpose(x));
    x = a * x + matmul(b * gram + c * matmul(gram, gram), x);
  }
  return tall ? transpose(x) : x;
}

bool Muon::update_whole(const Slot& slot) const {
  if (!matrices_.contains(slot.name)) return false;
  const Tensor &theta = slot.parameter.value(), &m = slot.state[0], &g = slot.gradient;
  const double mu = options_.momentum, rows = static_cast<double>(slot.shape[0]),
               columns = static_cast<double>(slot.shape[1]);
  m.copy_(mu * m + (1 - mu) * g);
  const Tensor x = orthogonal(options_.nesterov ? mu * m + (1 - mu) * g : m, options_);
  const double s = options_.match_rms_adamw ? 0.2 * std::sqrt(std::max(rows, columns))
                                            : std::sqrt(std::max(1.0, rows / columns));
  theta.copy_((1 - rate() * slot.weight_decay) * theta - (rate() * s) * x);
  return true;
}

}  // namespace glim
