#include "autograd/gradcheck/numeric.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tensor/error.hpp"

namespace glim::detail {

double Tolerance::excess(double analytic, double numeric) const {
  const double e = std::abs(analytic - numeric) / allowed(numeric);
  return std::isfinite(e) ? e : std::numeric_limits<double>::infinity();
}

// Steps have few bits, so that x + h is not rounded while h is not below 256 ε |x|.
Line::Line(const Origin& origin, F f, double size, bool many)
    : origin_(origin),
      f_(std::move(f)),
      size_(size),
      unit_(size > 1 ? std::ldexp(1, std::ilogb(size)) : 1),
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
      } catch (const MemoryError&) {
        throw;
      } catch (const std::exception&) {
        if (std::abs(t) <= 1.5 * h(ordinary_)) throw;
        y->assign(origin_.y.size(), std::numeric_limits<double>::quiet_NaN());
      }
  }
  const std::vector<double>&values = y ? *y : origin_.y, &u = origin_.u;
  return row == kProjected ? std::inner_product(u.begin(), u.end(), values.begin(), 0.0)
                           : values[row];
}

double Line::gap(int level, Index row) {
  return std::abs(at(level, 1, row) - 2 * at_zero(row) + at(level, -1, row)) / h(level);
}

double Line::change(int level, Index row) {
  double most = 0;
  for (int side : {-1, 1})
    if (const double y = at(level, side, row); std::isfinite(y))
      most = std::max(most, std::abs(y - at_zero(row)));
  return most;
}

double Line::scale(int level, Index row) {
  double scale = std::abs(at_zero(row));
  if (row == kProjected)
    for (std::size_t i = 0; i < origin_.u.size(); ++i)
      scale += std::abs(origin_.u[i] * origin_.y[i]);
  for (int side : {-1, 1})
    if (const double y = at(level, side, row); std::isfinite(y))
      scale = std::max(scale, std::abs(y));
  return scale;
}

bool Line::equal(int level, Index row) {
  const double zero = at_zero(row);
  return at(level, 1, row) == zero && at(level, -1, row) == zero;
}

bool Line::all_outputs_equal() {
  if (all_outputs_equal_) return *all_outputs_equal_;
  bool all = true;
  for (Index row = 0; row < std::ssize(origin_.y) && all; ++row) all = equal(ordinary_, row);
  return *(all_outputs_equal_ = all);
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

Estimate Line::estimate(int level, Index row) {
  Estimate e{.level = level};
  const double zero = at_zero(row);
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

Estimate Line::best_coarse(Index row) {
  Estimate best;
  for (int level = ordinary_; level > 0; --level)
    if (const Estimate e = with_noise(level, row); e.error() < best.error()) best = e;
  return best;
}

Estimate Line::with_noise(int level, Index row) {
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
      const Estimate e = with_noise(level, row);
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
