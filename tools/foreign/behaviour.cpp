// Is backward a linear function of dy, and of nothing but its arguments?
#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/gradcheck/analytic.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"
#include "tools/foreign/checks.hpp"

namespace glim::foreign {
namespace {

constexpr double kBig = 0x1p20, kHalf = 0x1p8;  // the larger one is infinite in float16

constexpr double kFewDigits = 0.3;  // 64 ε of bfloat16

FunctionCheck passed(const char* name) { return {name, CheckVerdict::Passed, ""}; }
FunctionCheck failed(const char* name, std::string why) {
  return {name, CheckVerdict::Failed, std::move(why)};
}

// How a gradient of one input that is not linear depends on dy. `dx(a, b)` is the gradient of a u + b v.
std::string not_linear(const std::function<Tensors(double a, double b)>& dx, double near) {
  auto like = [&](const Tensors& a, const Tensors& b) { return close(a, b, near); };
  auto sum = [](const Tensors& a, const Tensors& b) { return combine(1, a, 1, b); };
  const Tensors gu = dx(1, 0), gv = dx(0, 1), none = dx(0, 0), twice = dx(2, 0);
  if (like(gu, gv)) return "is the same whatever dy is";
  if (!vanishes(none) && like(sum(dx(1, 1), none), sum(gu, gv)))
    return "has a term that does not depend on dy (weight decay, a constant)";
  if (like(twice, combine(4, gu, 0, gu))) return "takes dy squared";
  if (like(twice, gu)) return "does not depend on the size of dy (its sign, or dy normalised)";
  if (like(dx(-1, 0), gu)) return "does not depend on the sign of dy";
  auto little = [&](double a, double b) { return combine(kBig, dx(a / kBig, b / kBig), 0, gu); };
  if (!vanishes(little(1, 0)) && like(little(1, 1), sum(little(1, 0), little(0, 1))))
    return "clips a large dy";
  return "is not linear in dy";
}

// How far rounding moves a gradient, over its largest element: by fourth differences along dy. They are 0 for a
// backward that is linear, and for most that are not. Others show in some elements alone, so that the median counts.
double rounding_of(const std::function<Tensor(double b)>& dx) {
  const std::vector<double> first = detail::flatten({dx(0)});
  std::vector<double> apart(first.size()), sizes;
  for (int i = 0; i <= 4; ++i) {
    const std::vector<double> g = i == 0 ? first : detail::flatten({dx(i / 16.0)});
    for (std::size_t e = 0; e < g.size(); ++e)
      apart[e] += std::array{1, -4, 6, -4, 1}[i] * g[e] / std::sqrt(70);
  }
  double most = 0;
  for (std::size_t e = 0; e < first.size(); ++e) {
    most = std::max(most, std::abs(first[e]));
    if (first[e] != 0) sizes.push_back(std::abs(apart[e]));
  }
  if (sizes.empty()) return 0;
  std::nth_element(sizes.begin(), sizes.begin() + std::ssize(sizes) / 2, sizes.end());
  return sizes[sizes.size() / 2] / std::max(1.0, most);
}

// ε of the smallest floating format that has every element: bfloat16, float16 or float32; else 0.
double format_of(const Tensor& gradient) {
  const std::vector<double> values = detail::flatten({gradient});
  for (const int digits : {8, 11, 24})
    if (std::all_of(values.begin(), values.end(), [&](double v) {
          int exponent = 0;
          const double mantissa = std::ldexp(std::frexp(v, &exponent), digits);
          return mantissa == std::nearbyint(mantissa);
        }))
      return std::ldexp(1, -digits);
  return 0;
}

}  // namespace

double largest(const Tensor& x) { return x.numel() == 0 ? 0 : max(abs(x)).item(); }

Tensor beside(const Tensor& x) {
  const double step = x.dtype() == DType::Float32 ? 0x1p-6 : 0x1p-12;
  return x + step * abs(detail::random_like(x, {6, 0})) * (x + 1);
}

Tensors combine(double a, const Tensors& u, double b, const Tensors& v) {
  Tensors sum;
  for (std::size_t k = 0; k < u.size(); ++k)
    sum.push_back(u[k].defined() ? a * u[k] + b * v[k] : Tensor());
  return sum;
}

bool same(const Tensors& a, const Tensors& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].defined() && !same_bits(a[k], b[k])) return false;
  return true;
}

bool alike(const Tensor& a, const Tensor& b, double near) {
  const std::vector<double> x = detail::flatten({a}), y = detail::flatten({b});
  double size = 1;
  for (const std::vector<double>* list : {&x, &y})
    for (double v : *list)
      if (std::isfinite(v)) size = std::max(size, std::abs(v));
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](double v, double w) {
    return v == w || (std::isnan(v) && std::isnan(w)) || std::abs(v - w) <= near * size;
  });
}

bool close(const Tensors& a, const Tensors& b, double near) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].defined() && !alike(a[k], b[k], near)) return false;
  return true;
}

bool vanishes(const Tensors& a) {
  return std::all_of(a.begin(), a.end(),
                     [](const Tensor& x) { return !x.defined() || largest(x) == 0; });
}

Tensors random_dy(const Tensors& y, std::uint64_t seed, std::uint64_t stream) {
  Tensors all;
  for (std::size_t o = 0; o < y.size(); ++o)
    all.push_back(is_floating(y[o].dtype())
                      ? detail::random_like(y[o], {seed, (stream << 32 | o) + (1ull << 63)})
                      : Tensor());
  return all;
}

Tensors Probe::random_dy(std::uint64_t stream) const {
  return foreign::random_dy(y, options.seed, stream);
}

double Probe::largest_dx() const {
  double most = 0;
  for (const Tensor& g : dx)
    if (g.defined()) most = std::max(most, largest(g));
  return most;
}

GradcheckOptions Probe::along_one() const {
  GradcheckOptions one = options;
  one.mode = GradcheckOptions::Mode::Projection;
  one.explain = GradcheckOptions::Explain::Nothing;
  const double most = largest_dx();
  if (most > 0 && options.atol > 1e-5 * most) one.rtol = std::max(one.rtol, options.atol / most);
  return one;
}

std::string digits_of(double rounded) {
  return "backward rounds to about " + number_text(std::round(-std::log10(rounded)), 2) + " digits";
}

FunctionCheck check_linear(Probe& p) {
  const char* name = "linear";
  const Tensors &u = p.dy, v = p.random_dy(1), &gu = p.dx, gv = p.gradient(v);
  if (vanishes(gu) && vanishes(gv)) return {name, CheckVerdict::Undecided, "every gradient is 0"};
  for (const Tensors* list : {&gu, &gv})
    for (const Tensor& g : *list)
      if (g.defined() && !all_finite(g))
        return {name, CheckVerdict::Undecided, "a gradient is not finite"};
  Tensors of_scaled;
  double big = kBig;
  for (const double factor : {kBig, kHalf}) {
    of_scaled = p.gradient(combine(big = factor, u, 0, u));
    if (std::all_of(of_scaled.begin(), of_scaled.end(),
                    [](const Tensor& g) { return !g.defined() || all_finite(g); }))
      break;
  }
  const Tensors sum = combine(1, gu, 1, gv), scaled = combine(big, gu, 0, gu);
  const Tensors of_sum = p.gradient(combine(1, u, 1, v));
  double rounded = 0;
  for (std::size_t k = 0; k < gu.size(); ++k) {
    auto linear = [&](double near) {
      return close({of_sum[k]}, {sum[k]}, near) && close({of_scaled[k]}, {scaled[k]}, near);
    };
    if (linear(p.near)) continue;
    auto dx = [&](double a, double b) { return Tensors{p.gradient(combine(a, u, b, v))[k]}; };
    const double rounding =
        std::max(rounding_of([&](double b) { return dx(1, b)[0]; }), format_of(gu[k]));
    if (const double near = 64 * rounding; near > kFewDigits || !linear(near))
      return failed(name,
                    "the gradient of " + p.calls.inputs[k].name + " " + not_linear(dx, p.near));
    rounded = std::max(rounded, rounding);
  }
  if (rounded == 0) return passed(name);
  p.rounded = rounded;
  p.near = std::max(p.near, 64 * rounded);
  if (64 * rounded > 1e-6) p.step = 0x1p-7;
  return {name, CheckVerdict::Passed, digits_of(rounded)};
}

bool Probe::repeats() {
  try {
    return same(gradient(dy), dx);
  } catch (const std::exception&) {
    return false;
  }
}

FunctionCheck check_repeatable(Probe& p) {
  const char* name = "repeatable";
  if (!same(p.calls.value(p.x), p.y))
    return failed(name, "f has random state: two calls with the same inputs differ");
  const Tensors second = p.gradient(p.dy);
  if (same(second, p.dx)) return passed(name);
  const Tensors third = p.gradient(p.dy);
  if (!close(second, p.dx, p.near) &&
      close(combine(1, third, -1, second), combine(1, second, -1, p.dx), p.near))
    return failed(name,
                  "backward adds to the result of an earlier call (+= into a gradient that is "
                  "never set to 0)");
  return failed(name, "backward has random state: two calls with the same arguments differ");
}

FunctionCheck check_stateless(Probe& p) {
  const char* name = "stateless";
  Tensors elsewhere;
  for (const Tensor& x : p.x) elsewhere.push_back(is_floating(x.dtype()) ? beside(x) : x);
  try {
    p.calls.value(elsewhere);
  } catch (const std::exception&) {  // as a probability above 1
    return {name, CheckVerdict::Undecided, kNoneBeside};
  }
  if (!p.repeats()) {
    p.calls.value_first = same(p.calls.value(p.x), p.y) && p.repeats();
    return failed(name,
                  "backward reads what the last call of f left, and not its own arguments (a "
                  "cached value gone stale)");
  }
  p.calls.gradient(elsewhere, p.random_dy(2));
  if (!same(p.calls.value(p.x), p.y))
    return failed(name, "f keeps state: it has another value after a call with another input");
  if (!p.repeats())
    return failed(name,
                  "backward keeps state: it gives another gradient after a call with another "
                  "input");
  const Tensors late = p.calls.interrupted(p.x, p.dy, elsewhere);
  if (!same(late, p.dx) && !close(late, p.dx, p.near))
    return failed(
        name,
        "backward reads what the last forward left, and not what its own forward saved (a "
        "cached value gone stale)");
  return passed(name);
}

FunctionCheck check_inputs(const Probe& p) {
  return p.calls.changed.empty() ? passed("inputs") : failed("inputs", p.calls.changed);
}

}  // namespace glim::foreign
