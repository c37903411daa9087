// Grain and noise of f: where its values are rounded to fewer digits than their dtype has (numeric.hpp).
//
// Noise. Where f's values have an error n, differences have n/h. Those of fine steps show it: what they change by from step
// to step falls with h³ if f is smooth, and not at all if it is noise.
//
// Grain. Where a part of f computes in fewer digits (float32, bfloat16) or cancels, f is a staircase. Steps below its
// grain see the rest of f alone, and agree with each other. The differences of a smooth f come nearer to each other by
// h² with each step. Where they do not (`looks_smooth`), each quarter of [-h, h] is halved towards the larger change of f. In a
// staircase each ends at a jump of about the same size. That is the grain: the error of a difference is then grain/h. At a
// kink the change falls with the step, and the edge of a mask is one jump.
#include <algorithm>
#include <array>

#include "autograd/gradcheck/numeric.hpp"

namespace glim::detail {
namespace {
constexpr int kCoarse = 4;    // h(4) = 0.02, where a grain of bfloat16 shows
constexpr int kCoarsest = 2;  // h(2) = 0.4, for bfloat16 where f is flat
// In ε of f's values and of the largest within f; a smaller grain is left to the estimates of rounding.
constexpr double kGrain = 0x1p12, kGrainInside = 64, kNoise = 64;
}  // namespace

bool Line::looks_smooth(Index row) {
  if (row != kProjected && !origin_.grainy.empty() && !origin_.grainy[row]) return true;
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

// The grain grows with what is rounded: with the input, and with f's slope there, or with the output.
double Line::growth(int level, Index row) {
  int near = ordinary_;
  while (near > level && change(near, row) == 0) --near;
  if (near < ordinary_ && near > level) --near;  // one grain says little of the slope
  const double slopes = (change(level, row) / h(level)) / (change(near, row) / h(near));
  const double input = (size_ + h(level)) / std::max(size_, h(ordinary_));
  return std::max(input * (slopes > 1 ? slopes : 1), scale(level, row) / scale(ordinary_, row));
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
  const double zero = at_zero(row);
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

bool Line::flat_then_moves(Index row) {
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (int level = 1; level <= kCoarse; ++level)
    if (const double c = change(level, row); c > 0) {
      most = std::max(most, c);
      least = std::min(least, c);
    }
  return least < 1e-6 * most;
}

}  // namespace glim::detail
