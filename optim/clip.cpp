#include "optim/clip.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

constexpr Index kNormPiece = 16384;

// Σ x² in eight sums side by side, which keep the adders busy, then in order.
template <class T>
double squares(const T* x, Index n) {
  std::array<double, 8> lane{};
  Index i = 0;
  for (; i + 8 <= n; i += 8)
    for (Index k = 0; k < 8; ++k) {
      auto v = static_cast<double>(x[i + k]);
      lane[k] += v * v;
    }
  for (; i < n; ++i) lane[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double total = 0;
  for (double l : lane) total += l;
  return total;
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  require_floating(x, "sum_of_squares");
  Tensor g = x.contiguous();
  Index n = g.numel();
  std::vector<double> parts((n + kNormPiece - 1) / kNormPiece);
  parallel_for(n, kNormPiece, [&](Index begin, Index end) {
    parts[begin / kNormPiece] = visit_floating(
        g.dtype(), [&]<class T>() { return squares(g.data<T>() + begin, end - begin); });
  });
  double total = 0;
  for (double part : parts) total += part;
  return total;
}

double gradient_norm(const NamedParameters& parameters) {
  std::vector<const Leaf*> leaves;
  for (const auto& [name, var] : parameters) leaves.push_back(&var.leaf());
  std::sort(leaves.begin(), leaves.end());
  if (std::adjacent_find(leaves.begin(), leaves.end()) != leaves.end())
    throw ValueError("gradient_norm", "a parameter is listed twice, and would count twice");
  double total = 0;
  for (const auto& [name, var] : parameters) {
    const Tensor& g = var.grad();
    if (!g.defined()) continue;
    double part = sum_of_squares(g);
    if (!std::isfinite(part))
      throw NonFiniteError("gradient_norm",
                           "the gradient of " + name +
                               (all_finite(g) ? " is too large to be squared" : " is not finite"),
                           {{"gradient", g}});
    total += part;
  }
  return std::sqrt(total);
}

double clip_gradient_norm(const NamedParameters& parameters, double max_norm) {
  if (!(max_norm > 0)) throw ValueError("clip_gradient_norm", "max_norm must be positive");
  for (const auto& [name, var] : parameters)
    if (var.dtype() == DType::Float32 && static_cast<float>(max_norm) == 0)
      throw ValueError("clip_gradient_norm", "max_norm " + number_text(max_norm) +
                                                 " is 0 in float32, the dtype of " + name);
  double norm = gradient_norm(parameters);
  double scale = max_norm / (norm + 1e-6);
  if (scale >= 1) return norm;
  for (const auto& [name, var] : parameters)
    if (var.grad().defined()) mul_(var.grad(), scale);
  return norm;
}

std::vector<Tensor> clip_adjoint(const std::vector<Tensor>& gradients, double max_norm,
                                 const std::vector<Tensor>& dgs) {
  double squared = 0, along = 0;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!gradients[k].defined()) continue;
    squared += sum_of_squares(gradients[k]);
    along += dot(gradients[k], dgs[k]);
  }
  const double norm = std::sqrt(squared), s = max_norm / (norm + 1e-6);
  if (s >= 1) return dgs;
  // The norm has no derivative at zero gradients, where 0 is taken.
  const double slope = norm == 0 ? 0 : -s * along / ((norm + 1e-6) * norm);
  std::vector<Tensor> result(dgs.size());
  for (std::size_t k = 0; k < gradients.size(); ++k)
    if (gradients[k].defined()) result[k] = s * dgs[k] + slope * gradients[k];
  return result;
}

}  // namespace glim
