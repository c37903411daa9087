// numeric: the derivative of f along a line, from differences, and an estimate of its error.
//
//   (f(h) - f(-h)) / 2h  =  f'(0)  +  h² f'''/6  +  ε |f| / h           cut off, and rounded
//
// The first step is near ∛ε max(1, |x|) (Press et al., "Numerical Recipes", section 5.7). If its difference does not
// decide, the step follows f's own scale: it is made 4-fold smaller, then larger, and Neville's scheme takes the powers
// of h out of four neighbours (Ridders 1982, "Accurate computation of F'(x)"). Where f is not finite on one side, the
// differences of the other side count.
//
// Kinks. Where f is not differentiable (relu at 0, a tie in max, an edge of a mask) the one-sided differences stay apart
// until rounding is the larger part of their distance.
//
// Where f's values have an error, or are rounded to few digits, a difference has that error over h (grain.cpp).
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "tensor/shape.hpp"

namespace glim::detail {

struct Tolerance {
  double atol, rtol;
  double allowed(double numeric) const { return atol + rtol * std::abs(numeric); }
  double excess(double analytic, double numeric) const;  // infinity when either is not finite
  bool within(double analytic, double numeric) const { return excess(analytic, numeric) <= 1; }
};

struct Estimate {
  double value = 0;
  int level = 0;  // its finest step
  double cut_off = std::numeric_limits<double>::infinity(), rounded = 0;
  double error() const { return cut_off + rounded; }
  bool is_rounding() const { return rounded > cut_off; }  // mostly
};

// Shared by all lines through a point.
struct Origin {
  std::vector<double> y{};     // the outputs
  std::vector<double> u{};     // their weights in kProjected
  double epsilon = 0x1p-52;    // ε of the dtype that f computes in
  double largest_inside = 0;   // the largest value that an op within f computes
  double noise = 0;            // backward's: derivatives that are closer may be the same
  bool may_round = false;      // a grain is looked for
  bool rounds = false;         // some output has a grain
  std::vector<bool> grainy{};  // the outputs that may have a grain in the input that moves
};

class Line {
 public:
  using F = std::function<std::vector<double>(double t)>;
  static constexpr Index kProjected = -1;  // the row of Σ u f; other rows are outputs
  static constexpr double kSure = 16;  // roundings, or grains, that a change beyond doubt exceeds
  // `size`: the largest element that moves. If `many` move, a small step rounds them.
  Line(const Origin& origin, F f, double size, bool many = false);

  // A larger level is a finer step.
  double h(int level) const { return unit_ * std::ldexp(1.4375, 2 - 2 * level); }
  int ordinary() const { return ordinary_; }  // the level of h near ∛ε
  // ---- values of f, evaluated when they are first asked for ----
  double at_zero(Index row) { return value(0, row); }
  double at(int level, int side, Index row) { return value(side * h(level), row); }  // f(±h)
  double change(int level, Index row);  // f's, over the step

  // ---- estimates of the derivative ----
  double central(int level, Index row) {
    return (at(level, 1, row) - at(level, -1, row)) / (2 * h(level));
  }
  Estimate one_difference(int level, Index row) {
    return {central(level, row), level, 0, rounding(level, row)};
  }
  // From this level and the three coarser ones. Its error is infinite where f(0), or both of f(±h), are not finite.
  Estimate estimate(int level, Index row);
  // The one with the smallest error in units of its tolerance, sought from `start` on.
  Estimate best(int start, Index row, const Tolerance& tolerance);
  Estimate with_noise(int level, Index row);  // with the error that the noise of f makes
  Estimate best_coarse(Index row);  // the smallest error of steps from the ordinary one up
  // Is the change of f over the step known well? False where f may be steep within it.
  bool change_is_known(const Estimate& e, Index row);
  // Takes rounding to be that of the largest value within f, or that of f's own values alone.
  void count_inner_rounding(bool counted) { inside_ = counted ? origin_.largest_inside : 0; }

  // ---- kinks ----
  double gap(int level, Index row);  // between the two one-sided differences
  // How far from the central difference a derivative may be because of a kink or a jump; 0 where f is smooth.
  double kink(Index row);

  // ---- grain and noise (grain.cpp) ----
  // Do differences come nearer to each other, from a step of 0.02 to the ordinary one, as those of a smooth f do?
  bool looks_smooth(Index row);
  // The size of f's jumps; 0 where there are none beyond ε, or none are looked for. `alike`: the largest over the least.
  double grain(Index row, double alike = 2.5);
  bool rounds(Index row);  // has f a grain, or noise?
  // The slope over coarse steps if f has one value over fine ones; else 0.
  double coarse_slope(Index row);
  bool plateau(Index row);  // the ordinary step is below the grain

  // ---- places where f has one value ----
  bool equal(int level, Index row);  // at the point and on both sides, to the bit
  bool all_outputs_equal();          // at the ordinary step
  bool constant(Index row);          // but for rounding, at steps up to 1.4
  // Does f leave its value by less than rounding first, and by far more at larger steps?
  bool flat_then_moves(Index row);

  const Origin& origin() const { return origin_; }

 private:
  double value(double t, Index row);
  double scale(int level, Index row);   // size of the values whose ε is f's rounding
  double growth(int level, Index row);  // growth of the rounded values from the ordinary step on
  double rounding(int level, Index row);
  // The noise of f's values: what two fine differences change by, times the step.
  double noise(Index row);
  double grain_within(double reach, Index row, double alike);
  double jump(double begin, double end, Index row);

  const Origin& origin_;
  F f_;
  double size_, unit_, moved_rounding_, inside_ = 0;
  int ordinary_, finest_;
  std::optional<bool> all_outputs_equal_;         // known once it is asked for
  std::map<double, std::vector<double>> values_;  // by t
  std::map<Index, double> grains_, noises_;       // by row
};

}  // namespace glim::detail
