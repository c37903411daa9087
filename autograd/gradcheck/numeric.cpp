#include "autograd/gradcheck/numeric.hpp"

#include <algorithm>
#include <cmath>
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

Verdict judge(double analytic, const std::function<Probe(int level)>& probe, Tolerance tolerance,
              double epsilon, double& numeric) {
  Probe first{}, last{};
  bool agrees = false;
  for (int level = 0; level < kLevels; ++level) {
    last = probe(level);
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
  // A kink at the point itself: the one-sided differences stay apart however small the step. A jump
  // in its middle: they agree, and grow as 1/h. Either way by more than rounding makes them, and by
  // enough to account for what was found.
  double largest = std::max({std::abs(last.plus), std::abs(last.zero), std::abs(last.minus)});
  double rounding = 1000 * epsilon * largest, error = std::abs(analytic - last.central());
  double bend = std::abs((last.plus - last.zero) - (last.zero - last.minus));
  double rise = std::abs(last.plus - last.minus);
  bool kink =
      last.gap() >= 0.1 * first.gap() && bend > rounding && error <= last.gap() + tolerance.atol;
  bool jump = rise >= 0.5 * std::abs(first.plus - first.minus) && rise > rounding &&
              error <= 2 * std::abs(last.central());
  bool finite = std::isfinite(last.gap()) && std::isfinite(analytic);
  if (finite && (kink || jump)) return Verdict::Undecidable;
  return agrees ? Verdict::Agrees : Verdict::Differs;
}

}  // namespace glim::detail
