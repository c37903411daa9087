// compare: is a derivative that backward gives the one that differences give?
//
//   |analytic - numeric| <= atol + rtol |numeric|       (false for NaN and infinities)
//
// A derivative is right if it agrees with an estimate whose error is within the tolerance. It is wrong if it is far from
// estimates in units of their errors. Before it is called wrong, rounding is taken to be that of the largest value
// that any op within f computes. At a kink no derivative is the right one: those between the one-sided differences are
// undecidable. Others are undecidable for rounding, or because f is too steep.
//
// A derivative is decisive if it is right and so far from 0 that a missing gradient, or one of the other sign, would be
// wrong.
// One that atol alone makes right is compared again, relative to its own size, at the step where the error is smallest.
// If no step decides, it is not right: it is within atol. Exactly 0, where f has one value, is right.
//
//   f                        analytic        verdict
//   x² at 1                  2               right, decisive
//   x² at 1                  2.002           wrong
//   x² at 1e-9               0               wrong: atol would make it right, and a longer step decides
//   |x| at 0                 0               undecidable: a kink
//   x rounded to 0.01        1               undecidable where f may round (GradcheckOptions), else wrong
//   log x at -1              anything        wrong: NaN agrees with nothing
#pragma once

#include <string>

#include "autograd/gradcheck/numeric.hpp"

namespace glim::detail {

struct Verdict {
  enum Kind { Right, Wrong, Undecidable } kind = Undecidable;
  double numeric = 0;
  Tolerance tolerance{};
  int level = 0;          // the step's
  std::string because{};  // why it is undecidable, or of low precision
  bool kink = false;      // it is undecidable for a kink
  bool rounds = false;    // it is undecidable because f rounds
  bool low_precision = false;
  bool decisive = false;
  bool within_atol = false;  // and right by that alone

  void at_kink() {
    kind = Undecidable;
    because = "a kink";
    kink = true;
  }
  // A wrong derivative is undecidable if a kink may move it by `jump`.
  void excuse_by_kink(double jump, double analytic) {
    if (jump > 0 && std::abs(analytic - numeric) <= jump + tolerance.atol) at_kink();
  }
};

Verdict decided_by(double analytic, double numeric, const Tolerance& tolerance);  // right or wrong
// A precise comparison starts at steps of 1e-3 to 0.09. If nothing decides, the ordinary tolerance takes the place of
// the precise one, and the verdict is of low precision. Where f rounds to few digits, a derivative that nothing else
// decides is held to two digits, and is of low precision, too.
Verdict compare(double analytic, Line& line, Index row, const Tolerance& tolerance, bool precise);
// Judges a right derivative that is not decisive again, as right, within atol alone, or wrong. Never as wrong if the caller
// has set atol.
void judge_by_size(double analytic, Line& line, Index row, double rtol, bool atol_is_set,
                   Verdict& v);

}  // namespace glim::detail
