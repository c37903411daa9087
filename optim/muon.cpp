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

bool is_tall(const Tensor& u) { return u.size(0) > u.size(1); }

// X before the first step of Newton and Schulz and after each; no more rows than columns.
std::vector<Tensor> iterates(const Tensor& u, const MuonOptions& o) {
  const Tensor wide = is_tall(u) ? transpose(u) : u;
  std::vector<Tensor> x{div(wide, std::max(std::sqrt(dot(wide, wide)), o.eps))};
  const auto [a, b, c] = o.coefficients;
  for (Index i = 0; i < o.steps; ++i) {
    const Tensor gram = matmul(x.back(), transpose(x.back()));
    x.push_back(a * x.back() + matmul(b * gram + c * matmul(gram, gram), x.back()));
  }
  return x;
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
  const Tensor x = iterates(u, o).back();
  return is_tall(u) ? transpose(x) : x;
}

bool Muon::update_whole(const Slot& slot) const {
  if (!matrices_.contains(slot.name)) return false;
  const Tensor &theta = slot.parameter.value(), &m = slot.state[0], &g = slot.gradient;
  const double mu = options_.momentum;
  m.copy_(mu * m + (1 - mu) * g);
  const Tensor x = orthogonal(options_.nesterov ? mu * m + (1 - mu) * g : m, options_);
  theta.copy_((1 - rate() * slot.weight_decay) * theta - (rate() * size_of(slot.shape)) * x);
  return true;
}

Optimizer::Adjoint Muon::transposed(const Slot& slot, const Adjoint& after) const {
  if (!matrices_.contains(slot.name)) return Adam::transposed(slot, after);
  const double mu = options_.momentum;
  const Tensor &g = slot.gradient, m = mu * slot.state[0] + (1 - mu) * g;
  const Tensor u = options_.nesterov ? mu * m + (1 - mu) * g : m;
  const std::vector<Tensor> x = iterates(u, options_);
  const Tensor along = (-rate() * size_of(slot.shape)) * after.parameter;
  Tensor dx = is_tall(u) ? transpose(along) : along;
  const auto [a, b, c] = options_.coefficients;
  for (std::size_t i = x.size() - 1; i-- > 0;) {
    const Tensor gram = matmul(x[i], transpose(x[i])), dp = matmul(dx, transpose(x[i]));
    const Tensor dgram = b * dp + c * (matmul(dp, gram) + matmul(gram, dp));
    dx = a * dx + matmul(b * gram + c * matmul(gram, gram), dx) +
         matmul(dgram + transpose(dgram), x[i]);
  }
  const double norm = std::sqrt(dot(u, u));
  dx = norm > options_.eps ? div(dx - dot(x[0], dx) * x[0], norm) : div(dx, options_.eps);
  const Tensor du = is_tall(u) ? transpose(dx) : dx;
  const Tensor dm = after.state[0] + (options_.nesterov ? mu : 1) * du;
  const Tensor dg = options_.nesterov ? (1 - mu) * (dm + du) : (1 - mu) * dm;
  return {(1 - rate() * slot.weight_decay) * after.parameter, {mu * dm, after.state[1]}, dg};
}

double Muon::size_of(const Shape& shape) const {
  const double rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  return options_.match_rms_adamw ? 0.2 * std::sqrt(std::max(rows, columns))
                                  : std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace glim
