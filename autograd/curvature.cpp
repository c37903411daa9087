#include "autograd/curvature.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

// Eigenvalues of a symmetric tridiagonal matrix, with the first and the last row of its eigenvectors: implicit QL
// (Golub & Van Loan, section 8.3; EISPACK's imtql2).
struct Tridiagonal {
  std::vector<double> values, first, last;

  Tridiagonal(std::vector<double> alpha, std::vector<double> beta)
      : values(std::move(alpha)), first(values.size()), last(values.size()) {
    const std::size_t n = values.size();
    beta.resize(n);
    beta[n - 1] = 0;
    first[0] = last[n - 1] = 1;
    for (std::size_t l = 0; l < n; ++l)
      for (int sweep = 0;; ++sweep) {
        std::size_t m = l;
        while (m + 1 < n && !negligible(beta[m], m)) ++m;
        if (m == l) break;
        if (sweep == 60) throw StateError("lanczos", "the eigenvalues of T do not converge");
        chase(beta, l, m);
      }
  }

 private:
  bool negligible(double b, std::size_t m) const {
    const double size = std::abs(values[m]) + std::abs(values[m + 1]);
    return std::abs(b) <= 1e-16 * size || b == 0;
  }
  // One implicit QL step of rows l to m.
  void chase(std::vector<double>& beta, std::size_t l, std::size_t m) {
    double g = (values[l + 1] - values[l]) / (2 * beta[l]);
    double r = std::sqrt(g * g + 1);
    g = values[m] - values[l] + beta[l] / (g + (g < 0 ? -r : r));
    double s = 1, c = 1, p = 0;
    for (std::size_t i = m; i-- > l;) {
      const double f = s * beta[i], b = c * beta[i];
      r = std::sqrt(f * f + g * g);
      beta[i + 1] = r;
      if (r == 0) {  // underflow
        values[i + 1] -= p;
        beta[m] = 0;
        return;
      }
      s = f / r, c = g / r;
      g = values[i + 1] - p;
      r = (values[i] - g) * s + 2 * c * b;
      p = s * r;
      values[i + 1] = g + p;
      g = c * r - b;
      for (std::vector<double>* row : {&first, &last}) {
        const double x = (*row)[i + 1];
        (*row)[i + 1] = s * (*row)[i] + c * x;
        (*row)[i] = c * (*row)[i] - s * x;
      }
    }
    values[l] -= p;
    beta[l] = g;
    beta[m] = 0;
  }
};

Ritz ritz_of(const std::vector<double>& alpha, const std::vector<double>& beta) {
  const Tridiagonal t(alpha, {beta.begin(), beta.end() - 1});
  std::vector<std::size_t> order(alpha.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return t.values[i]; });
  Ritz r;
  for (std::size_t i : order) {
    r.values.push_back(t.values[i]);
    r.residuals.push_back(beta.back() * std::abs(t.last[i]));
    r.weights.push_back(t.first[i] * t.first[i]);
  }
  return r;
}

// True if the values that are asked for have converged.
bool converged(const Ritz& r, const LanczosOptions& o) {
  const Index m = r.products();
  const double size = std::max(std::abs(r.values.front()), std::abs(r.values.back()));
  auto wrong = [&](Index i) {
    return !(r.residuals[static_cast<std::size_t>(i)] <= o.tolerance * size);
  };
  if (m < std::max(o.largest, o.lowest)) return false;
  for (Index i = 0; i < o.lowest; ++i)
    if (wrong(i)) return false;
  for (Index i = 0, low = 0, high = m - 1; i < o.largest; ++i) {
    const bool from_below = std::abs(r.values[static_cast<std::size_t>(low)]) >
                            std::abs(r.values[static_cast<std::size_t>(high)]);
    if (wrong(m - 1 - i) || wrong(from_below ? low++ : high--)) return false;
  }
  return true;
}

// Names the op whose second derivative is not finite.
struct FiniteProduct final : Observer {
  void flow(const Flow& flow) override {
    if (all_finite(flow.gradient)) return;
    NonFiniteError e(tape()->nodes()[static_cast<std::size_t>(flow.sender)].name(),
                     "its second derivative is not finite", {{"gradient", flow.gradient}});
    place(e, *tape(), flow.sender);
    throw e;
  }
};

bool has_kink(std::string_view op) {
  constexpr std::string_view ops[] = {"abs",     "clamp",   "linear_relu", "max",
                                      "maximum", "minimum", "min",         "relu"};
  return std::ranges::find(ops, op) != std::end(ops);
}

}  // namespace

Ritz lanczos(Index n, const std::function<Tensor(const Tensor&)>& product,
             const LanczosOptions& options) {
  if (n < 1 || options.largest > n || options.lowest > n)
    throw ValueError("lanczos", std::to_string(std::max(options.largest, options.lowest)) +
                                    " eigenvalues are asked for of " + std::to_string(n));
  const Index most = std::min(n, std::max(options.steps, options.largest));
  Tensor basis = zeros({most, n}, DType::Float64);
  std::vector<double> alpha, beta;
  auto orthogonal = [&](Tensor w, Index rows) {
    const Tensor q = narrow(basis, 0, 0, rows);
    for (int twice = 0; twice < 2 && rows > 0; ++twice)
      w = w - reshape(matmul(reshape(matmul(q, reshape(w, {n, 1})), {1, rows}), q), {n});
    return w;
  };
  auto random = [&](Index j) {
    const RandomKey key{options.start.seed, options.start.stream + static_cast<std::uint64_t>(j)};
    return orthogonal(normal({n}, 0, 1, key, DType::Float64), j);
  };
  Tensor w = random(0);
  double size = 0;
  for (Index j = 0; j < most; ++j) {
    select(basis, 0, j).copy_(div(w, std::sqrt(dot(w, w))));
    const Tensor q = select(basis, 0, j);
    w = product(q);
    alpha.push_back(dot(q, w));
    size = std::max({size, std::abs(alpha.back()), beta.empty() ? 0 : beta.back()});
    w = orthogonal(std::move(w), j + 1);
    beta.push_back(std::sqrt(dot(w, w)));
    // The vectors so far span a subspace that H does not leave: a random one begins the next.
    if (j + 1 == n || beta.back() <= 1e-13 * size) beta.back() = 0;
    if (options.tolerance > 0 || j + 1 == most) {
      Ritz r = ritz_of(alpha, beta);
      if (j + 1 == most || converged(r, options)) return r;
    }
    if (beta.back() == 0) w = random(j + 1);
  }
  return {};
}

Density density_of(const std::vector<Ritz>& starts) {
  double low = starts.at(0).values.front(), high = low;
  for (const Ritz& r : starts)
    low = std::min(low, r.values.front()), high = std::max(high, r.values.back());
  constexpr int points = 200;
  const double range = high > low ? high - low : std::max(1.0, std::abs(high)),
               sigma = 0.02 * range, step = 1.2 * range / (points - 1),
               peak = std::numbers::inv_sqrtpi / (std::numbers::sqrt2 * sigma),
               count = static_cast<double>(starts.size());
  Density d{};
  for (int k = 0; k < points; ++k) {
    const double t = low - 0.1 * range + k * step;
    double total = 0, squares = 0;
    for (const Ritz& r : starts) {
      double density = 0;
      for (std::size_t i = 0; i < r.values.size(); ++i) {
        const double z = (t - r.values[i]) / sigma;
        density += r.weights[i] * peak * portable::exp(-0.5 * z * z);
      }
      total += density, squares += density * density;
    }
    const double mean = total / count,
                 error = std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1));
    d.points.push_back(t), d.density.push_back(mean), d.error.push_back(error);
    d.distance += error * step;
  }
  return d;
}

Hessian::Hessian(Tape& tape, const Var& loss, std::vector<Var> xs, const std::vector<Tensor>& p)
    : tape_(tape), xs_(std::move(xs)) {
  if (xs_.empty()) throw ValueError("curvature", "there are no parameters");
  if (float32()) require_highest_precision("curvature");
  for (std::size_t i = 0; i < tape.nodes().size(); ++i)
    if (const std::string_view op = tape.nodes()[i].name(); has_kink(op))
      kinks_.push_back(std::string(op) + " at " + tape.path(static_cast<int>(i)));
  gradients_ = tape.grad(loss, xs_, {}, {.create_graph = true});
  bool constant = true;
  for (std::size_t k = 0; k < xs_.size(); ++k) {
    const bool depends = tape.node_of(gradients_[k]) >= 0;
    constant = constant && !depends;
    if (!depends && dot(gradients_[k].value(), gradients_[k].value()) == 0)
      throw ValueError("curvature",
                       "the loss does not read " + name_of(k) + ": leave it out of the parameters");
  }
  if (constant && !kinks_.empty())
    throw ValueError("curvature",
                     "the loss is not twice differentiable: its gradient is constant between the "
                     "kinks of " +
                         kinks_[0] + (kinks_.size() > 1 ? " and others" : ""));
  precondition(p);
}

void Hessian::precondition(const std::vector<Tensor>& p) {
  if (!p.empty() && p.size() != xs_.size())
    throw ValueError("curvature", "P has a tensor for each parameter");
  scales_.clear();
  for (std::size_t k = 0; k < p.size(); ++k) {
    const Tensor element = p[k].to(DType::Float64);
    if (element.shape() != xs_[k].shape() || !(min(element, {}, false).item() > 0))
      throw ValueError("curvature", "the preconditioner of " + name_of(k) +
                                        " must be positive and of its shape; Adam's is √v̂ + ε");
    scales_.push_back(
        reshape(div(ones(element.shape(), DType::Float64), sqrt(element)), {element.numel()}));
  }
}

std::string Hessian::name_of(std::size_t k) const {
  return xs_[k].name().empty() ? "parameter " + std::to_string(k) : xs_[k].name();
}

Index Hessian::size(std::optional<std::size_t> block) const {
  if (block) return xs_.at(*block).numel();
  Index n = 0;
  for (const Var& x : xs_) n += x.numel();
  return n;
}

bool Hessian::float32() const {
  return std::ranges::any_of(xs_, [](const Var& x) { return x.dtype() != DType::Float64; });
}

Tensor Hessian::operator()(const Tensor& v, std::optional<std::size_t> block) const {
  std::vector<Var> xs, gradients, vs;
  std::vector<Tensor> results;
  const std::size_t first = block.value_or(0), end = block ? first + 1 : xs_.size();
  Index offset = 0;
  for (std::size_t k = first; k < end; ++k) {
    Tensor part = narrow(v, 0, offset, xs_[k].numel());
    offset += xs_[k].numel();
    if (!scales_.empty()) part = part * scales_[k];
    xs.push_back(xs_[k]), gradients.push_back(gradients_[k]);
    vs.push_back(reshape(part, xs_[k].shape()).to(xs_[k].dtype()));
  }
  auto products = [&] { return tape_.grad(gradients, xs, vs, {.retain = true}); };
  const std::vector<Var> hv = products();
  for (std::size_t k = first; k < end; ++k) {
    const Tensor& result = hv[k - first].value();
    if (!all_finite(result)) {
      FiniteProduct check;
      tape_.observe(check);
      products();
      throw NonFiniteError("curvature", "the Hessian times a vector is not finite");
    }
    Tensor part = reshape(result.to(DType::Float64), {result.numel()});
    results.push_back(scales_.empty() ? part : part * scales_[k]);
  }
  return concatenate(results, 0);
}

Ritz Hessian::lanczos(LanczosOptions options, std::optional<std::size_t> block) const {
  if (float32() && options.tolerance > 0) options.tolerance = std::max(options.tolerance, 1e-5);
  return glim::lanczos(
      size(block), [&](const Tensor& v) { return (*this)(v, block); }, options);
}

}  // namespace glim
