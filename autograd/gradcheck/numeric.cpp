#include "autograd/gradcheck/numeric.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace glim::detail {
namespace {
constexpr int kCoarse = 4;    // h(4) = 0.02, where a grain of bfloat16 shows
constexpr int kCoarsest = 2;  // h(2) = 0.4, for bfloat16 where f is flat
// In ε of f's values and of the largest within f; a smaller grain is left to the estimates of rounding.
constexpr double kGrain = 0x1p12, kGrainInside = 64, kNoise = 64;
constexpr double kSure = 16;  // roundings, or grains: a change by more is none of theirs
}  // namespace

double Tolerance::excess(double analytic, double numeric) const {
  const double e = std::abs(analytic - numeric) / allowed(numeric);
  return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
}

// Steps have few bits, so that x + h is not rounded while h is not below 256 ε |x|.
Line::Line(const Origin& origin, F f, double size, bool many)
    : origin_(origin),
      f_(std::move(f)),
      size_(size),
      unit_(size > 1 ? std::exp2(std::floor(std::log2(size))) : 1),
      moved_rounding_(many ? origin.epsilon * size : 0) {
  const double first = std::log2(1.4375) + 2;  // log2 of h(0) / unit
  ordinary_ = static_cast<int>(std::lround((first - std::log2(std::cbrt(origin.epsilon))) / 2));
  const double least = std::log2(256 * origin.epsilon * (size > 0 ? size : 0x1p-6) / unit_);
  finest_ = std::clamp(static_cast<int>((first - least) / 2), ordinary_ + 3, 48);
}

// A coarse step may leave the domain of f.
double Line::value(double t, Index row) {
  std::vector<double>* y = nullptr;
  if (t != 0) {
    y = &values_[t];
    if (y->empty()) try {
        *y = f_(t);
      } catch (const std::exception&) {
        if (std::abs(t) <= 1.5 * h(ordinary_)) throw;
        y->assign(origin_.y.size(), std::numeric_limits<double>::quiet_NaN());
      }
  }
  const std::vector<double>&values = y ? *y : origin_.y, &u = origin_.u;
  return row == kAlong ? std::inner_product(u.begin(), u.end(), values.begin(), 0.0) : values[row];
}

double Line::gap(int level, Index row) {
  return std::abs(at(level, 1, row) - 2 * at(-1, 0, row) + at(level, -1, row)) / h(level);
}

double Line::change(int level, Index row) {
  double most = 0;
  for (int side : {-1, 1})
    if (const double y = at(level, side, row); std::isfinite(y))
      most = std::max(most, std::abs(y - at(-1, 0, row)));
  return most;
}

double Line::scale(int level, Index row) {
  double scale = std::abs(at(-1, 0, row));
  if (row == kAlong)
    for (std::size_t i = 0; i < origin_.u.size(); ++i)
      scale += std::abs(origin_.u[i] * origin_.y[i]);
  for (int side : {-1, 1})
    if (const double y = at(level, side, row); std::isfinite(y))
      scale = std::max(scale, std::abs(y));
  return scale;
}

bool Line::equal(int level, Index row) {
  const double zero = at(-1, 0, row);
  return at(level, 1, row) == zero && at(level, -1, row) == zero;
}

bool Line::all_outputs_equal() {
  if (all_outputs_equal_) return *all_outputs_equal_;
  bool all = true;
  for (Index row = 0; row < std::ssize(origin_.y) && all; ++row) all = equal(ordinary_, row);
  return *(all_outputs_equal_ = all);
}

// The grain grows with what is rounded: with the input, and with f's slope there, or with the output.
double Line::growth(int level, Index row) {
  int near = ordinary_;
  while (near > level && change(near, row) == 0) --near;
  if (near < ordinary_ && near > level) --near;  // one grain says little of the slope
  const double slopes = (change(level, row) / h(level)) / (change(near, row) / h(near));
  const double input = (size_ + h(level)) / std::max(size_, h(ordinary_));
  return std::max(input * (slopes > 1 ? slopes : 1), scale(level, row) / scale(ordinary_, row));
}

// Some ε of the values; of values all the same to the bit, half an ulp over the distance of the outer two.
double Line::rounding(int level, Index row) {
  const double size = scale(level, row);
  const bool same = equal(level, row) && size >= inside_;
  double error = (same ? 0.125 : 4) * origin_.epsilon * std::max(size, inside_);
  if (const auto grain = grains_.find(row); grain != grains_.end() && grain->second > 0)
    error += grain->second * growth(level, row);
  return error / h(level);
}

bool Line::looks_smooth(Index row) {
  if (row != kAlong && !origin_.grainy.empty() && !origin_.grainy[row]) return true;
  // Steps of few bits move what is rounded by whole units. A step of many bits does not.
  for (const double c : {0x1.25c9d4a6b8f35p0, 0x1.6a3f1c8e5d2b7p0}) {
    const double off = c * h(ordinary_), slope = (value(off, row) - value(-off, row)) / (2 * off);
    if (std::abs(slope - central(ordinary_, row)) > kSure * rounding(ordinary_, row)) return false;
  }
  for (int coarse = std::min(kCoarse, ordinary_ - 2); coarse < ordinary_ - 1; ++coarse) {
    const int middle = (coarse + ordinary_) / 2;
    const double first = central(coarse, row) - central(middle, row),
                 second = central(middle, row) - central(ordinary_, row);
    if (!std::isfinite(first) || !std::isfinite(second)) continue;
    const double ratio = std::ldexp(1, 4 * (middle - coarse));  // (h(coarse) / h(middle))²
    if (!(std::abs(first - ratio * second) <=
          0.1 * std::abs(first) + ratio * rounding(ordinary_, row) + rounding(coarse, row)))
      return false;
    // Where nothing curves, the grain may be larger still.
    const double alike = 4 * (rounding(middle, row) + rounding(coarse, row));
    for (int level = coarse; std::abs(first) <= alike && level >= kCoarsest; --level)
      if (std::abs(central(level, row) - central(middle, row)) > alike) return false;
    return true;
  }
  return true;
}

double Line::grain(Index row, double alike) {
  if (const auto known = grains_.find(row); known != grains_.end()) return known->second;
  double found = 0;
  for (int level = !origin_.may_round || looks_smooth(row) ? 0 : ordinary_;
       level >= kCoarsest && found == 0; level -= level > kCoarse + 2 ? 3 : 1)
    found = grain_within(h(level), row, alike);
  return grains_[row] = found;
}

// A rounded value jumps by about the same amount everywhere. A kink, or the edge of a mask, jumps once.
double Line::grain_within(double reach, Index row, double alike) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (double start : {-1.0, -0.5, 0.0, 0.5}) {
    const double begin = start * reach, end = (start + 0.5) * reach;
    if (!std::isfinite(value(begin, row)) || !std::isfinite(value(end, row))) continue;
    const double found = jump(begin, end, row);
    least = std::min(least, found);
    most = std::max(most, found);
  }
  return most <= alike * least ? most : 0;
}

// The largest change of f at one place between two points; 0 if it changes without one.
double Line::jump(double begin, double end, Index row) {
  // The slope of all but what is rounded. One of the three steps may cross a jump.
  const int fine = std::clamp(finest_ - 5, ordinary_ + 2, ordinary_ + 8);
  std::array slopes{central(fine - 1, row), central(fine, row), central(fine + 1, row)};
  std::sort(slopes.begin(), slopes.end());
  auto change = [&](double a, double b) {
    return std::abs(value(b, row) - value(a, row) - slopes[1] * (b - a));
  };
  const double shortest = std::max(h(finest_), 0x1p-39 * (end - begin));
  const double rounding = origin_.epsilon * std::max(kGrain * scale(ordinary_, row),
                                                     kGrainInside * origin_.largest_inside);
  std::vector<double> changes{change(begin, end)};
  while (end - begin > shortest) {
    const double middle = (begin + end) / 2;
    (change(begin, middle) > change(middle, end) ? end : begin) = middle;
    changes.push_back(change(begin, end));
    // Over 18 halvings a change of many jumps has become one.
    const std::size_t n = changes.size();
    if (!(changes[n - 1] > rounding) || (n > 18 && changes[n - 1] < 0.25 * changes[n - 5]))
      return 0;
  }
  return changes.back();
}

bool Line::rounds(Index row) {
  const double most = std::max(scale(ordinary_, row), origin_.largest_inside);
  return grain(row) > 0 || noise(row) > kNoise * origin_.epsilon * most;
}

bool Line::plateau(Index row) {
  const double slope = central(ordinary_, row);
  auto agrees = [&](int level) {
    return std::abs(central(level, row) - slope) * h(level) <=
           8 * origin_.epsilon * scale(level, row) + 1e-6 * std::abs(slope) * h(level);
  };
  return agrees(ordinary_ + 1) && agrees(ordinary_ + 2) && agrees(ordinary_ + 3);
}

// On one side of a kink alone f may change, too.
double Line::coarse_slope(Index row) {
  const double zero = at(-1, 0, row);
  for (int level = kCoarse + 1; level >= kCoarsest && equal(ordinary_, row); --level) {
    const double left = zero - at(level, -1, row), right = at(level, 1, row) - zero;
    const double least = std::min(std::abs(left), std::abs(right));
    if (left * right > 0 && std::max(std::abs(left), std::abs(right)) < 2 * least &&
        least > kGrain * origin_.epsilon * std::max(scale(level, row), origin_.largest_inside))
      return central(level, row);
  }
  return 0;
}

bool Line::constant(Index row) {
  for (int level = 1; level <= kCoarse; ++level)
    if (!(change(level, row) <=
          kSure * origin_.epsilon * std::max(scale(level, row), origin_.largest_inside)))
      return false;
  return true;
}

bool Line::fades(Index row) {
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (int level = 1; level <= kCoarse; ++level)
    if (const double c = change(level, row); c > 0) {
      most = std::max(most, c);
      least = std::min(least, c);
    }
  return least < 1e-6 * most;
}

Estimate Line::estimate(int level, Index row) {
  Estimate e{.level = level};
  const double zero = at(-1, 0, row);
  const bool left = std::isfinite(at(level, -1, row)), right = std::isfinite(at(level, 1, row));
  if (!std::isfinite(zero) || (!left && !right)) return e;
  const bool both = left && right;
  const int side = right ? 1 : -1;
  // Rows of Neville's table. Each column takes one more power of h out: of h², or on one side of h.
  std::array<double, 4> row_of_table{}, above{};
  int columns = 0;
  for (int l = std::max(level - 3, 0); l <= level; ++l, ++columns) {
    above = row_of_table;
    row_of_table[0] = both ? central(l, row) : (at(l, side, row) - zero) / (side * h(l));
    double factor = 1;
    for (int j = 0; j < columns; ++j) {
      factor *= both ? 16 : 4;
      row_of_table[j + 1] = row_of_table[j] + (row_of_table[j] - above[j]) / (factor - 1);
    }
  }
  for (int j = 0; j < columns && columns > 1; ++j) {
    double apart = std::abs(row_of_table[j] - above[std::max(j - 1, 0)]);
    if (j > 0) apart = std::max(apart, std::abs(row_of_table[j] - row_of_table[j - 1]));
    if (!(apart < e.cut_off)) continue;
    e.cut_off = apart;
    e.value = row_of_table[j];
  }
  // Sides that do not come nearer to each other show a kink, noise, or a detail of f that the step is too large for.
  if (both && level > 0 && !(gap(level, row) <= 0.5 * gap(level - 1, row)))
    e.cut_off += gap(level, row);
  e.rounded = rounding(level, row) + change(level, row) / h(level) * moved_rounding_ / h(level);
  return e;
}

Estimate Line::coarse(Index row) {
  Estimate best;
  for (int level = ordinary_; level > 0; --level)
    if (const Estimate e = noisy(level, row); e.error() < best.error()) best = e;
  return best;
}

// A change by the cut-off falls 64-fold with each step. One by noise comes again, but not each time: steps may move f by
// whole grains.
double Line::noise(Index row) {
  const auto [known, is_new] = noises_.try_emplace(row, 0);
  double earlier = 0, before = 0;
  for (int level = ordinary_; is_new && origin_.may_round && level < finest_; ++level) {
    // The last change before f has one value is a grain.
    if (!equal(level, row) && equal(level + 1, row))
      known->second = std::max(known->second, change(level, row));
    if (level == ordinary_) continue;
    const double last = std::abs(central(level, row) - central(level + 1, row)) * h(level + 1);
    if (!std::isfinite(last)) continue;
    known->second = std::max(known->second, std::min(earlier, last));
    earlier = std::max(earlier, before);
    before = last;
  }
  return known->second;
}

Estimate Line::noisy(int level, Index row) {
  Estimate e = estimate(level, row);
  if (const double n = noise(row); n > 0) e.rounded += n * growth(level, row) / h(level);
  return e;
}

// Towards finer steps, unless rounding is the larger error, then the other way. Two steps may agree by chance.
Estimate Line::best(int start, Index row, const Tolerance& tolerance) {
  Estimate best;
  auto share = [&](const Estimate& e) { return e.error() / tolerance.allowed(e.value); };
  bool finer = !estimate(start, row).is_rounding();
  for (int pass = 0; pass < 2 && !(share(best) <= 1); ++pass, finer = !finer)
    for (int level = start; level >= 0 && level <= finest_; level += finer ? 1 : -1) {
      const Estimate e = noisy(level, row);
      if (share(e) < share(best) || !std::isfinite(best.error())) best = e;
      if (share(best) <= 0.1) return best;
    }
  return best;
}

bool Line::change_is_known(const Estimate& e, Index row) {
  if (grain(row) > 0 && change(e.level, row) < kSure * grain(row) * growth(e.level, row))
    return false;
  const double step = h(e.level);
  const double enough = std::max(0.01 * change(e.level, row), 4 * rounding(e.level, row) * step);
  const double finer = std::abs(central(e.level + 1, row) - e.value);
  return e.cut_off * step <= enough && !(finer * step > enough);
}

double Line::kink(Index row) {
  double least = std::numeric_limits<double>::infinity();
  int found = -1;
  for (int level = 3; level <= finest_; ++level) {
    const double apart = gap(level, row);
    if (!(apart <= 1.001 * least)) continue;
    if (!(apart > kSure * std::max(rounding(level, row), noise(row) / h(level)))) continue;
    least = std::min(apart, least);
    found = level;
  }
  // The distance of a smooth f falls 4-fold with each step until rounding takes over.
  bool flat = found >= ordinary_;
  for (int coarser = 1; flat && coarser <= 3; ++coarser)
    flat = gap(found - coarser, row) <= 2 * least && gap(found - coarser, row) >= 0.5 * least;
  if (flat) return least;
  auto rise = [&](int level) { return at(level, 1, row) - at(level, -1, row); };
  const double last = rise(finest_);
  bool jump = std::abs(last) > kSure * rounding(finest_, row) * h(finest_);
  for (int level = ordinary_ - 1; level < finest_; ++level)
    jump = jump && rise(level) / last > 0.5 && rise(level) / last < 2;
  return jump ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace glim::detail
