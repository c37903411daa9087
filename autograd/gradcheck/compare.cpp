#include "autograd/gradcheck/compare.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/print.hpp"

namespace glim::detail {
namespace {

constexpr Tolerance kOrdinary{1e-7, 1e-5};
constexpr int kPreciseStart = 6;  // h(6) = 1.3e-3

// Is the derivative far beyond the error, and beyond that of the next finer step? Coarse steps may agree by chance.
bool far(double analytic, Line& line, Index row, const Estimate& e) {
  const Estimate finer = line.noisy(e.level + 1, row);
  return std::abs(analytic - e.value) > 10 * e.error() &&
         std::abs(analytic - finer.value) > finer.error();
}

Verdict compare_once(double analytic, Line& line, Index row, const Tolerance& tolerance,
                     bool precise) {
  std::string rounds;
  // A precise comparison is sure enough of an estimate that is ordinary, if it agrees to all digits asked for.
  const Tolerance& sure = precise ? kOrdinary : tolerance;
  auto agrees = [&](const Estimate& e) {
    return e.error() <= sure.allowed(e.value) && tolerance.within(analytic, e.value);
  };
  auto decided = [&](const Estimate& e) {
    Verdict v = decided_by(analytic, e.value, tolerance);
    v.level = e.level;
    return v;
  };
  auto undecidable = [&](const Estimate& e, std::string because) {
    Verdict v{.numeric = e.value, .tolerance = tolerance, .level = e.level};
    v.because = std::move(because);
    v.rounds = !rounds.empty() && v.because == rounds;
    return v;
  };
  // At a kink a derivative may agree by symmetry, as that of |x| at 0 does.
  auto one_slope = [&](const Estimate& e) {
    return line.gap(e.level, row) <= 1000 * sure.allowed(e.value);
  };

  line.round_inside(false);
  const int start = precise ? kPreciseStart : line.ordinary();
  const double zero = line.at(-1, 0, row);
  if (const double grain = line.grain(row); grain > 0) {
    const double digits = zero == 0 ? 0 : std::max(0.0, std::log10(std::abs(zero) / grain));
    rounds = "f rounds to about " + number_text(std::round(digits), 2) + " digits";
    // Steps below the grain do not see what is rounded, nor whether that has a derivative.
    const Estimate fine = line.single(line.ordinary(), row);
    if (line.plateau(row) && kOrdinary.within(analytic, fine.value))
      return undecidable(fine, rounds);
  }

  // Does one difference agree, do four neighbours, or those where the error is smallest?
  if (const Estimate e = line.single(start, row); !precise && agrees(e) && one_slope(e))
    return decided(e);
  const Estimate first = line.estimate(start, row);
  if (agrees(first) && one_slope(first)) return decided(first);
  const Estimate best = line.best(start, row, tolerance);
  if (agrees(best) && one_slope(best)) return decided(best);

  // Is there a derivative at all?
  if (std::isnan(zero) || std::isnan(analytic)) return decided(best);
  if (!std::isfinite(best.error()))
    return undecidable(best,
                       std::isfinite(zero) ? "no difference is finite" : "the value is not finite");
  if (const double kink = line.kink(row); kink > 0) {
    if (std::abs(analytic - best.value) > kink + best.error() + tolerance.allowed(best.value))
      return decided(best);
    Verdict v = undecidable(best, "");
    v.at_kink();
    return v;
  }
  for (const Estimate& e : {best, first})
    if (agrees(e)) return decided(e);

  // No difference has ten digits where f rounds, and no point is known to as many.
  if (precise && !rounds.empty()) return undecidable(best, rounds);

  // Does it differ by more than rounding within f explains?
  line.round_inside(true);
  const Estimate inside = line.best(start, row, tolerance);
  if (agrees(inside)) return decided(inside);
  for (const Estimate& e : {inside, line.noisy(best.level, row)}) {
    const double allowed = tolerance.allowed(e.value);
    const bool known = e.is_rounding() || e.error() <= std::max(allowed, 0.01 * std::abs(e.value));
    if (known && line.resolved(e, row) && !tolerance.within(analytic, e.value) &&
        far(analytic, line, row, e))
      return decided(e);
  }
  if (!rounds.empty()) return undecidable(best, rounds);
  if (!best.is_rounding() && !inside.is_rounding())
    return undecidable(best,
                       "a kink or a steep place within " + number_text(4 * line.h(best.level), 1));
  return undecidable(
      best, "rounding of values of " +
                number_text(best.is_rounding() ? std::abs(zero) : line.origin().largest_inside, 1));
}

// The verdict of the step where the error is smallest. What is far beyond that error is wrong. What agrees is right where
// two digits are known, or three of a sum of derivatives, of which a wrong one may be a small part.
Verdict by_error(double analytic, Line& line, Index row, const Verdict& undecidable) {
  const Estimate e = line.coarse(row);
  const Tolerance two_digits{0, 0.02}, known{0, row == Line::kAlong ? 0.002 : 0.02};
  Verdict v = decided_by(analytic, e.value, two_digits);
  const bool decided = v.kind == Verdict::Wrong ? far(analytic, line, row, e)
                                                : std::abs(analytic - e.value) <= 10 * e.error() &&
                                                      4 * e.error() <= known.allowed(e.value);
  if (!decided || !line.resolved(e, row) || line.change(e.level, row) == 0) return undecidable;
  v.level = e.level;
  v.because = undecidable.because;
  v.low_precision = true;
  return v;
}

}  // namespace

Verdict decided_by(double analytic, double numeric, const Tolerance& tolerance) {
  Verdict v{.numeric = numeric, .tolerance = tolerance};
  v.kind = tolerance.within(analytic, numeric) ? Verdict::Right : Verdict::Wrong;
  v.tells = v.kind == Verdict::Right && std::abs(numeric) > 4 * tolerance.allowed(numeric);
  return v;
}

Verdict compare(double analytic, Line& line, Index row, const Tolerance& tolerance, bool precise) {
  Verdict v = compare_once(analytic, line, row, tolerance, precise);
  if (precise && v.kind == Verdict::Undecidable && !v.kink) {
    Verdict low = compare_once(analytic, line, row, kOrdinary, false);
    low.low_precision = true;
    if (low.kind != Verdict::Undecidable) low.because = v.because;
    v = low;
  }
  if (v.kind == Verdict::Wrong && line.origin().may_round && line.equal(line.ordinary(), row) &&
      (line.origin().rounds || std::abs(line.stairs(row) - analytic) < 0.5 * std::abs(analytic))) {
    v.kind = Verdict::Undecidable;
    v.because = "f changes over coarse steps alone";
    v.rounds = true;
  }
  return v.rounds ? by_error(analytic, line, row, v) : v;
}

void rejudge(double analytic, Line& line, Index row, double rtol, bool atol_is_set, Verdict& v) {
  if (v.kind != Verdict::Right || v.tells) return;
  if (analytic == 0 && line.equal(line.ordinary(), row)) {
    v.within_atol =
        ((row == Line::kAlong || line.still()) && line.fades(row)) || line.stairs(row) != 0;
    return;
  }
  const Estimate e = line.coarse(row);
  Verdict by_size = decided_by(analytic, e.value, {10 * e.error(), rtol});
  by_size.level = e.level;
  const double apart = std::abs(analytic - e.value);
  if (by_size.tells ||
      (!atol_is_set && by_size.kind == Verdict::Wrong && apart > line.origin().noise &&
       line.resolved(e, row) && line.change(e.level, row) > 0))
    v = by_size;
  else
    v.within_atol = !(apart <= line.origin().noise && line.constant(row));
}

}  // namespace glim::detail
