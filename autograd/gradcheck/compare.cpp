#include "autograd/gradcheck/compare.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tensor/print.hpp"

namespace glim::detail {
namespace {

constexpr Tolerance kOrdinary{1e-7, 1e-5};
constexpr int kPreciseStart = 6;    // h(6) = 1.4e-3
constexpr double kFar = 10;         // a derivative so many errors from an estimate is wrong
constexpr double kOneSlope = 1000;  // one-sided differences within so many tolerances show no kink
constexpr double kKnown = 0.01;  // relative error of an estimate that may call a derivative wrong
constexpr double kDecisive = 4;  // a right derivative so many tolerances from 0 is decisive
constexpr double kTwoDigits = 0.02;     // relative tolerance where f rounds to few digits
constexpr double kThreeDigits = 0.002;  // the same of a sum, in which a wrong term may be small

// Is the derivative far beyond the error, and beyond that of the next finer step? Coarse steps may agree by chance.
bool far(double analytic, Line& line, Index row, const Estimate& e) {
  const Estimate finer = line.with_noise(e.level + 1, row);
  return std::abs(analytic - e.value) > kFar * e.error() &&
         std::abs(analytic - finer.value) > finer.error();
}

// One comparison, by four questions in turn. The first that has an answer decides, but for what compare() and judge_by_size()
// take back where f is rounded or tiny.
struct Comparison {
  double analytic;
  Line& line;
  Index row;
  const Tolerance& tolerance;
  bool precise;
  // A precise comparison is sure of an ordinary estimate that agrees to all digits.
  const Tolerance& sure = precise ? kOrdinary : tolerance;
  double zero = 0;       // f at the point
  std::string rounds{};  // why rounding leaves it open
  Estimate first{}, best{};

  // The first that decides:
  //   below_grain          fine steps do not change f: undecidable
  //   by_agreement         differences agree with each other and with backward: right
  //   without_derivative   a kink, or no finite difference: undecidable, or wrong beyond what it explains
  //   by_rounding          right or wrong where rounding within f cannot explain the error, else undecidable
  Verdict verdict() {
    line.count_inner_rounding(false);
    if (auto v = below_grain()) return *v;
    if (auto v = by_agreement()) return *v;
    if (auto v = without_derivative()) return *v;
    return by_rounding();
  }

  int start() const { return precise ? kPreciseStart : line.ordinary(); }
  bool agrees(const Estimate& e) const {
    return e.error() <= sure.allowed(e.value) && tolerance.within(analytic, e.value);
  }
  // At a kink a derivative may agree by symmetry, as that of |x| at 0 does.
  bool has_one_slope(const Estimate& e) {
    return line.gap(e.level, row) <= kOneSlope * sure.allowed(e.value);
  }
  Verdict decided(const Estimate& e) const {
    Verdict v = decided_by(analytic, e.value, tolerance);
    v.level = e.level;
    return v;
  }
  Verdict undecidable(const Estimate& e, std::string because) const {
    Verdict v{.numeric = e.value, .tolerance = tolerance, .level = e.level};
    v.because = std::move(because);
    v.rounds = !rounds.empty() && v.because == rounds;
    return v;
  }

  // Are fine steps below f's grain? They do not see what is rounded, nor whether that has a derivative.
  std::optional<Verdict> below_grain() {
    zero = line.at_zero(row);
    const double grain = line.grain(row);
    if (!(grain > 0)) return std::nullopt;
    const double digits = zero == 0 ? 0 : std::max(0.0, std::log10(std::abs(zero) / grain));
    rounds = "f rounds to about " + number_text(std::round(digits), 2) + " digits";
    const Estimate fine = line.one_difference(line.ordinary(), row);
    if (line.plateau(row) && kOrdinary.within(analytic, fine.value))
      return undecidable(fine, rounds);
    return std::nullopt;
  }

  // Does one difference agree, do four neighbours, or those where the error is smallest?
  std::optional<Verdict> by_agreement() {
    if (const Estimate e = line.one_difference(start(), row);
        !precise && agrees(e) && has_one_slope(e))
      return decided(e);
    first = line.estimate(start(), row);
    if (agrees(first) && has_one_slope(first)) return decided(first);
    best = line.best(start(), row, tolerance);
    if (agrees(best) && has_one_slope(best)) return decided(best);
    return std::nullopt;
  }

  // Is there no derivative at all?
  std::optional<Verdict> without_derivative() {
    if (std::isnan(zero) || std::isnan(analytic)) return decided(best);
    if (!std::isfinite(best.error()))
      return undecidable(
          best, std::isfinite(zero) ? "no difference is finite" : "the value is not finite");
    const double kink = line.kink(row);
    if (!(kink > 0)) return std::nullopt;
    if (std::abs(analytic - best.value) > kink + best.error() + tolerance.allowed(best.value))
      return decided(best);
    Verdict v = undecidable(best, "");
    v.at_kink();
    return v;
  }

  // Does it differ by more than rounding within f explains?
  Verdict by_rounding() {
    for (const Estimate& e : {best, first})
      if (agrees(e)) return decided(e);
    // No difference has ten digits where f rounds, and no point is known to as many.
    if (precise && !rounds.empty()) return undecidable(best, rounds);
    line.count_inner_rounding(true);
    const Estimate inside = line.best(start(), row, tolerance);
    if (agrees(inside)) return decided(inside);
    for (const Estimate& e : {inside, line.with_noise(best.level, row)}) {
      const double allowed = tolerance.allowed(e.value);
      const bool known =
          e.is_rounding() || e.error() <= std::max(allowed, kKnown * std::abs(e.value));
      if (known && line.change_is_known(e, row) && !tolerance.within(analytic, e.value) &&
          far(analytic, line, row, e))
        return decided(e);
    }
    if (!rounds.empty()) return undecidable(best, rounds);
    if (!best.is_rounding() && !inside.is_rounding())
      return undecidable(
          best, "a kink or a steep place within " + number_text(4 * line.h(best.level), 1));
    const double rounded = best.is_rounding() ? std::abs(zero) : line.origin().largest_inside;
    return undecidable(best, "rounding of values of " + number_text(rounded, 1));
  }
};

// The verdict of the step where the error is smallest. What is far beyond that error is wrong. What agrees is right where
// two digits are known, or three of a sum of derivatives, of which a wrong one may be a small part.
Verdict by_error(double analytic, Line& line, Index row, const Verdict& undecidable) {
  const Estimate e = line.best_coarse(row);
  const Tolerance two_digits{0, kTwoDigits},
      known{0, row == Line::kProjected ? kThreeDigits : kTwoDigits};
  Verdict v = decided_by(analytic, e.value, two_digits);
  const bool decided = v.kind == Verdict::Wrong
                           ? far(analytic, line, row, e)
                           : std::abs(analytic - e.value) <= kFar * e.error() &&
                                 4 * e.error() <= known.allowed(e.value);
  if (!decided || !line.change_is_known(e, row) || line.change(e.level, row) == 0)
    return undecidable;
  v.level = e.level;
  v.because = undecidable.because;
  v.low_precision = true;
  return v;
}

}  // namespace

Verdict decided_by(double analytic, double numeric, const Tolerance& tolerance) {
  Verdict v{.numeric = numeric, .tolerance = tolerance};
  v.kind = tolerance.within(analytic, numeric) ? Verdict::Right : Verdict::Wrong;
  v.decisive =
      v.kind == Verdict::Right && std::abs(numeric) > kDecisive * tolerance.allowed(numeric);
  return v;
}

Verdict compare(double analytic, Line& line, Index row, const Tolerance& tolerance, bool precise) {
  Verdict v = Comparison{analytic, line, row, tolerance, precise}.verdict();
  if (precise && v.kind == Verdict::Undecidable && !v.kink) {
    Verdict low = Comparison{analytic, line, row, kOrdinary, false}.verdict();
    low.low_precision = true;
    if (low.kind != Verdict::Undecidable) low.because = v.because;
    v = low;
  }
  if (v.kind == Verdict::Wrong && line.origin().may_round && line.equal(line.ordinary(), row) &&
      (line.origin().rounds ||
       std::abs(line.coarse_slope(row) - analytic) < 0.5 * std::abs(analytic))) {
    v.kind = Verdict::Undecidable;
    v.because = "f changes over coarse steps alone";
    v.rounds = true;
  }
  return v.rounds ? by_error(analytic, line, row, v) : v;
}

void judge_by_size(double analytic, Line& line, Index row, double rtol, bool atol_is_set,
                   Verdict& v) {
  if (v.kind != Verdict::Right || v.decisive) return;
  if (analytic == 0 && line.equal(line.ordinary(), row)) {
    v.within_atol =
        ((row == Line::kProjected || line.all_outputs_equal()) && line.flat_then_moves(row)) ||
        line.coarse_slope(row) != 0;
    return;
  }
  const Estimate e = line.best_coarse(row);
  Verdict by_size = decided_by(analytic, e.value, {kFar * e.error(), rtol});
  by_size.level = e.level;
  const double apart = std::abs(analytic - e.value);
  if (by_size.decisive ||
      (!atol_is_set && by_size.kind == Verdict::Wrong && apart > line.origin().noise &&
       line.change_is_known(e, row) && line.change(e.level, row) > 0))
    v = by_size;
  else
    v.within_atol = !(apart <= line.origin().noise && line.constant(row));
}

}  // namespace glim::detail
