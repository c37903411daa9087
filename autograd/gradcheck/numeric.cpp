#include "autograd/gradcheck/numeric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "autograd/tape.hpp"

namespace glim::detail {
std::vector<double> flatten(const std::vector<Var>& outputs) {
  std::vector<double> all;
  for (const Var& y : outputs) {
    std::vector<double> part = y.value().to(DType::Float64).to_vector<double>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

double signed_random(RandomKey key, Index i) {
  double r = uniform_at(key, static_cast<std::uint64_t>(i));
  return r < 0.5 ? -0.5 - 2 * r : 2 * r - 0.5;
}

Tensor random_like(const Tensor& y, RandomKey key) {
  Tensor u = empty(y.shape(), DType::Float64);
  for (Index i = 0; i < u.numel(); ++i) u.data<double>()[i] = signed_random(key, i);
  return u.to(y.dtype());
}

Shape unravel(const Shape& shape, Index i) {
  Shape index = shape;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    index[a] = i % shape[a];
    i /= shape[a];
  }
  return index;
}

Neighbourhood::Neighbourhood(const Subject& subject, bool in_float64) : subject_(subject) {
  for (const Tensor& x : subject.values)
    copies_.push_back(in_float64 && x.dtype() == DType::Float32 ? x.to(DType::Float64).contiguous()
                                                                : x.clone());
}

std::vector<double> Neighbourhood::evaluate() const {
  SameRandom same;
  Tape tape;
  std::vector<Var> xs;
  return flatten(subject_.run(copies_, xs, false));
}

double Neighbourhood::element(std::size_t input, Index i) const {
  const Tensor& x = copies_[input];
  return x.dtype() == DType::Float64 ? x.data<double>()[i]
                                     : static_cast<double>(x.data<float>()[i]);
}

void Neighbourhood::set(std::size_t input, Index i, double value) const {
  const Tensor& x = copies_[input];
  if (x.dtype() == DType::Float64)
    x.data<double>()[i] = value;
  else
    x.data<float>()[i] = static_cast<float>(value);
}

double Tolerance::excess(double analytic, double numeric) const {
  double e = std::abs(analytic - numeric) / allowed(numeric);
  return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
}

namespace {

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1g", x);
  return text;
}

}  // namespace

double Probe::central() const {
  auto odd = [&](int k) { return (plus[k - 1] - minus[k - 1]) / h; };
  if (plus.size() == 1) return odd(1) / 2;
  return 4.0 / 5 * odd(1) - 1.0 / 5 * odd(2) + 4.0 / 105 * odd(3) - 1.0 / 280 * odd(4);
}

bool Probe::constant() const {
  auto is_zero = [&](double y) { return y == zero; };
  return std::all_of(plus.begin(), plus.end(), is_zero) &&
         std::all_of(minus.begin(), minus.end(), is_zero);
}

double Probe::cut_off() const {
  if (constant()) return 0;
  auto odd = [&](int k) { return (plus[k - 1] - minus[k - 1]) / h; };
  auto even = [&](int k) { return plus[k - 1] + minus[k - 1]; };
  double sixth = 3.0 / 4 * odd(1) - 3.0 / 20 * odd(2) + 1.0 / 60 * odd(3);
  double difference = even(4) - 8 * even(3) + 28 * even(2) - 56 * even(1) + 70 * zero;
  return std::abs(central() - sixth) + std::abs(difference) / (1000 * h);
}

PreciseDerivative precise_derivative(const std::function<Probe(int level)>& probe,
                                     Tolerance tolerance, double epsilon) {
  PreciseDerivative best;
  double least = std::numeric_limits<double>::infinity();
  bool coarser = false;
  for (int level = kPreciseFirst; level >= 0 && level < kPreciseLevels; level += coarser ? -1 : 1) {
    const Probe p = probe(level);
    const double cut_off = p.cut_off(), rounding = p.rounding(epsilon);
    if (cut_off + rounding < least) {
      least = cut_off + rounding;
      best.value = p.central();
      // The next coarser step was cut off too far.
      const std::string place =
          "a kink or a steep place within " + short_number(4 * p.h * (rounding > cut_off ? 4 : 1));
      const std::string rounded = "rounding of values of " + short_number(p.scale);
      best.uncertain = rounding <= cut_off                 ? place
                       : coarser || level == kPreciseFirst ? rounded
                                                           : place + ", and " + rounded;
    }
    if (least <= 0.1 * tolerance.allowed(best.value)) break;
    if (level == kPreciseFirst)
      coarser = rounding > cut_off;
    else if (coarser != (rounding > cut_off))
      break;
  }
  if (least <= tolerance.allowed(best.value)) best.uncertain.clear();
  return best;
}

// A kink at the point itself: the one-sided differences stay apart however small the step. A jump in its
// middle: they agree, and grow as 1/h. Either way by more than rounding makes them.
double excused_by_kink(const Probe& first, const Probe& last, double epsilon) {
  const double rounding = 1000 * epsilon * last.scale;
  const double bend = last.gap() * last.h, rise = std::abs(last.plus[0] - last.minus[0]);
  const bool kink = last.gap() >= 0.1 * first.gap() && bend > rounding;
  const bool jump = rise >= 0.5 * std::abs(first.plus[0] - first.minus[0]) && rise > rounding;
  return std::max(kink ? last.gap() : 0.0, jump ? 2 * std::abs(last.central()) : 0.0);
}

Verdict judge(double analytic, const std::function<Probe(int level)>& probe, Tolerance tolerance,
              double epsilon, double& numeric) {
  Probe first{}, last{};
  std::array<double, kLevels> centrals{};
  bool agrees = false;
  for (int level = 0; level < kLevels; ++level) {
    last = probe(level);
    centrals[level] = last.central();
    if (level == 0) {
      first = last;
      numeric = first.central();
    }
    if (!tolerance.within(analytic, last.central())) continue;
    if (!agrees) numeric = last.central();
    agrees = true;
    // A kink may agree by symmetry, as |x| at 0 does: the sides have to agree too, roughly.
    if (!(last.gap() > 1000 * tolerance.allowed(numeric))) return Verdict::Agrees;
  }
  if (!tolerance.within(centrals[0], centrals[1]) || !tolerance.within(centrals[1], centrals[2]))
    for (int coarser = kLevels; coarser < kAllLevels; ++coarser) {
      const double central = probe(coarser).central();
      if (!tolerance.within(analytic, central)) continue;
      numeric = central;
      return Verdict::Agrees;
    }
  const double excused = excused_by_kink(first, last, epsilon);
  const bool finite = std::isfinite(last.gap()) && std::isfinite(analytic);
  if (finite && excused > 0 && std::abs(analytic - last.central()) <= excused + tolerance.atol)
    return Verdict::Undecidable;
  return agrees ? Verdict::Agrees : Verdict::Differs;
}

}  // namespace glim::detail
