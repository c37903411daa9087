#include "autograd/gradcheck/numeric.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "autograd/tape.hpp"
#include "tensor/print.hpp"

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

// ---- f at a point ----

Point::Point(const Subject& subject, bool in_float64) : subject_(subject) {
  for (const Tensor& x : subject.values)
    copies_.push_back(in_float64 && x.dtype() == DType::Float32 ? x.to(DType::Float64).contiguous()
                                                                : x.clone());
}

std::vector<double> Point::evaluate(Observer* observer) const {
  SameRandom same;
  Tape tape;
  if (observer) tape.observe(*observer);
  std::vector<Var> xs;
  return flatten(subject_.run(copies_, xs, false));
}

double Point::element(std::size_t input, Index i) const {
  const Tensor& x = copies_[input];
  return x.dtype() == DType::Float64 ? x.data<double>()[i]
                                     : static_cast<double>(x.data<float>()[i]);
}

void Point::set(std::size_t input, Index i, double value) const {
  const Tensor& x = copies_[input];
  if (x.dtype() == DType::Float64)
    x.data<double>()[i] = value;
  else
    x.data<float>()[i] = static_cast<float>(value);
}

void Point::move_all(std::size_t input, const std::function<double(Index i)>& by) const {
  for (Index i = 0; i < numel(input); ++i) set(input, i, element(input, i) + by(i));
}

double Point::largest_inside() const {
  struct Largest final : Observer {
    void computed(const Formula&, const Tensor& y) override {
      for (double e : flatten({y}))
        if (std::isfinite(e)) value = std::max(value, std::abs(e));
    }
    double value = 0;
  } largest;
  evaluate(&largest);
  return largest.value;
}

double Tolerance::excess(double analytic, double numeric) const {
  double e = std::abs(analytic - numeric) / allowed(numeric);
  return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
}

// ---- f on a line ----

// Steps have few bits, so that x + h is not rounded while h is not below 256 ε |x|.
Line::Line(F f, std::vector<double> zero, double size, double epsilon, std::vector<double> u,
           bool many)
    : f_(std::move(f)),
      zero_(std::move(zero)),
      unit_(size > 1 ? std::exp2(std::floor(std::log2(size))) : 1),
      epsilon_(epsilon),
      moved_rounding_(many ? epsilon * size : 0),
      u_(std::move(u)) {
  const double first = std::log2(unit_ * 1.4375) + 2;
  ordinary_ =
      static_cast<int>(std::lround((first - std::log2(unit_) - std::log2(std::cbrt(epsilon))) / 2));
  const double least = std::log2(256 * epsilon * (size > 0 ? size : 0x1p-6));
  finest_ = std::clamp(static_cast<int>((first - least) / 2), ordinary_ + 3, 48);
}

double Line::at(int level, int side, Index row) {
  const std::vector<double>* values = &zero_;
  if (level >= 0) {
    auto& sides = sides_[side > 0];
    if (static_cast<std::size_t>(level) >= sides.size()) sides.resize(level + 1);
    if (sides[level].empty()) sides[level] = f_(side * h(level));
    values = &sides[level];
  }
  return row == kAlong ? std::inner_product(u_.begin(), u_.end(), values->begin(), 0.0)
                       : (*values)[row];
}

double Line::gap(int level, Index row) {
  return std::abs(at(level, 1, row) - 2 * at(-1, 0, row) + at(level, -1, row)) / h(level);
}

// Some ε of the values; of values all the same to the bit, half an ulp over the distance of the outer two.
double Line::rounding(int level, Index row) {
  const double zero = at(-1, 0, row), plus = at(level, 1, row), minus = at(level, -1, row);
  double scale = std::abs(zero);
  if (row == kAlong)
    for (std::size_t i = 0; i < u_.size(); ++i) scale += std::abs(u_[i] * zero_[i]);
  for (double y : {plus, minus})
    if (std::isfinite(y)) scale = std::max(scale, std::abs(y));
  if (inside_ > scale) return 4 * epsilon_ * inside_ / h(level);
  return (plus == zero && minus == zero ? 0.125 : 4) * epsilon_ * scale / h(level);
}

Estimate Line::estimate(int level, Index row) {
  constexpr int kMost = 4;
  Estimate e;
  e.level = level;
  const int n = std::min(level + 1, kMost);
  const bool left = std::isfinite(at(level, -1, row)), right = std::isfinite(at(level, 1, row));
  if (!std::isfinite(at(-1, 0, row)) || (!left && !right)) return e;
  auto difference = [&](int l) {
    if (left && right) return central(l, row);
    const int side = right ? 1 : -1;
    return (at(l, side, row) - at(-1, 0, row)) / (side * h(l));
  };
  // table[i][j]: of levels i-j to i, the power of h that is cut off rising by 2, or by 1 on one side.
  std::array<std::array<double, kMost>, kMost> table{};
  double cut_off = std::numeric_limits<double>::infinity();
  for (int i = 0; i < n; ++i) {
    table[i][0] = difference(level - n + 1 + i);
    double factor = 1;
    for (int j = 1; j <= i; ++j) {
      factor *= left && right ? 16 : 4;
      table[i][j] = table[i][j - 1] + (table[i][j - 1] - table[i - 1][j - 1]) / (factor - 1);
    }
  }
  for (int j = 0, i = n - 1; j <= i && i > 0; ++j) {
    double apart = std::abs(table[i][j] - table[i - 1][std::max(j - 1, 0)]);
    if (j > 0) apart = std::max(apart, std::abs(table[i][j] - table[i][j - 1]));
    if (!(apart < cut_off)) continue;
    cut_off = apart;
    e.value = table[i][j];
  }
  // Sides that do not come nearer to each other show a kink, noise, or a detail of f that the step is too large for.
  if (left && right && level > 0 && !(gap(level, row) <= 0.5 * gap(level - 1, row)))
    cut_off += gap(level, row);
  const double rounded =
      rounding(level, row) + change(level, row) / h(level) * moved_rounding_ / h(level);
  e.rounding = rounded > cut_off;
  e.cut_off = cut_off;
  e.error = cut_off + rounded;
  return e;
}

double Line::change(int level, Index row) {
  double most = 0;
  for (int side : {-1, 1})
    if (const double y = at(level, side, row); std::isfinite(y))
      most = std::max(most, std::abs(y - at(-1, 0, row)));
  return most;
}

bool Line::resolved(const Estimate& e, Index row) {
  const double enough =
      std::max(0.01 * change(e.level, row), 4 * rounding(e.level, row) * h(e.level));
  const double finer = std::abs(central(e.level + 1, row) - e.value);
  return e.cut_off * h(e.level) <= enough && !(finer * h(e.level) > enough);
}

Estimate Line::best(int start, Index row, const Tolerance& tolerance) {
  Estimate best;
  auto sure = [&](double share) { return best.error <= share * tolerance.allowed(best.value); };
  auto consider = [&](int level) {
    const Estimate e = estimate(level, row);
    if (e.error / tolerance.allowed(e.value) < best.error / tolerance.allowed(best.value) ||
        !std::isfinite(best.error))
      best = e;
    return sure(0.1);
  };
  bool finer = !estimate(start, row).rounding;
  for (int pass = 0; pass < 2; ++pass, finer = !finer) {
    for (int level = start; level >= 0 && level <= finest_; level += finer ? 1 : -1)
      if (consider(level)) return best;
    if (sure(1)) break;
  }
  return best;
}

double Line::kink(Index row) {
  double least = std::numeric_limits<double>::infinity();
  int found = -1;
  for (int level = 3; level <= finest_; ++level) {
    const double apart = gap(level, row);
    if (!(apart <= 1.001 * least) || !(apart > 16 * rounding(level, row))) continue;
    least = std::min(apart, least);
    found = level;
  }
  // Of a smooth f the distance falls 4-fold with each step until rounding takes over.
  bool flat = found >= ordinary_;
  for (int coarser = 1; flat && coarser <= 3; ++coarser)
    flat = gap(found - coarser, row) <= 2 * least && gap(found - coarser, row) >= 0.5 * least;
  if (flat) return least;
  auto rise = [&](int level) { return at(level, 1, row) - at(level, -1, row); };
  const double last = rise(finest_);
  bool jump = std::abs(last) > 16 * rounding(finest_, row) * h(finest_);
  for (int level = ordinary_ - 1; level < finest_; ++level)
    jump = jump && rise(level) / last > 0.5 && rise(level) / last < 2;
  return jump ? std::numeric_limits<double>::infinity() : 0;
}

// ---- a verdict ----

Judgement judge(double analytic, Line& line, Index row, const Tolerance& tolerance, bool precise,
                const std::function<double()>& largest) {
  Judgement j;
  const int first = line.ordinary();
  j.level = first;
  j.numeric = line.central(first, row);
  // A precise check is sure enough of a difference that is ordinary, if it agrees to all digits asked for.
  const Tolerance& sure = precise ? kOrdinary : tolerance;
  // At a kink a derivative may agree by symmetry, as that of |x| at 0 does.
  auto one_slope = [&](int level, double value) {
    return line.gap(level, row) <= 1000 * sure.allowed(value);
  };
  if (!precise && tolerance.within(analytic, j.numeric) &&
      line.rounding(first, row) <= tolerance.allowed(j.numeric) && one_slope(first, j.numeric)) {
    j.verdict = Verdict::Agrees;
    return j;
  }
  auto differs = [&] {
    j.verdict = Verdict::Differs;
    return j;
  };
  auto agrees = [&](const Estimate& e) {
    j.numeric = e.value;
    j.level = e.level;
    const bool right = e.error <= sure.allowed(e.value) && tolerance.within(analytic, e.value);
    j.verdict = right ? Verdict::Agrees : Verdict::Undecidable;
    return right;
  };
  const double zero = line.at(-1, 0, row);
  const int start = precise ? kPreciseStart : first;
  line.set_inside(0);
  const Estimate at_start = line.estimate(start, row);
  const bool agrees_at_start = agrees(at_start);
  if (agrees_at_start && one_slope(start, at_start.value)) return j;
  const Estimate e = line.best(start, row, tolerance);
  if (agrees(e) && one_slope(e.level, e.value)) return j;
  if (std::isnan(zero) || std::isnan(analytic)) return differs();
  if (!std::isfinite(e.error)) {
    j.because = std::isfinite(zero) ? "no difference is finite" : "the value is not finite";
    return j;
  }
  const double apart = std::abs(analytic - e.value), allowed = tolerance.allowed(e.value);
  if (const double kink = line.kink(row); kink > 0) {
    if (apart > kink + allowed) return differs();
    j.verdict = Verdict::Undecidable;
    j.because = "a kink";
    j.kink = true;
    return j;
  }
  if (j.verdict == Verdict::Agrees || (agrees_at_start && agrees(at_start))) return j;
  // Rounding within f may be that of larger values than its own.
  const double inside = largest();
  line.set_inside(inside);
  const Estimate with_inside = line.best(start, row, tolerance);
  if (agrees(with_inside)) return j;
  j.numeric = e.value;
  j.level = e.level;
  const bool known = e.error <= allowed || e.error <= 0.01 * std::abs(e.value);
  if (known && apart > allowed + 4 * e.error && line.resolved(e, row) &&
      4 * line.epsilon() * inside / line.h(e.level) <= 0.1 * apart)
    return differs();
  const double apart_inside = std::abs(analytic - with_inside.value);
  if (line.resolved(with_inside, row) && (with_inside.rounding || with_inside.error <= allowed) &&
      apart_inside > tolerance.allowed(with_inside.value) + 10 * with_inside.error) {
    agrees(with_inside);
    return differs();
  }
  j.because = e.rounding || with_inside.rounding
                  ? "rounding of values of " + number_text(e.rounding ? std::abs(zero) : inside, 1)
                  : "a kink or a steep place within " + number_text(4 * line.h(e.level), 1);
  return j;
}

}  // namespace glim::detail
