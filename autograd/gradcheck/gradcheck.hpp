// The gradient checker: are the derivatives that backward computes those of the function?
//
// For a function f from inputs x to outputs y, with Jacobian J = ∂y/∂x, three steps do the work:
//
//   analytic   Jᵀ dy, by backward
//   numeric    J v, by differences: (f(x + h v) - f(x - h v)) / 2h
//   compare    |analytic - numeric| <= atol + rtol |numeric|, or undecidable
//
//   REQUIRE(gradcheck(f, {x, w}));     a report is true if it passed, and prints itself in Catch2
//   REQUIRE(gradcheck([&] { return sum(model(x)); }, model.named_parameters()));     of a module's parameters
//
// Undecided is not passed: a report in which a missing gradient would look the same is undecided.
//
// The files, in the order of reading:
//
//   plain.hpp                    the three steps in 40 lines, for the number Σ u f and one element of x after another
//   check.cpp                    which derivatives are compared. Its head is a map of a check
//   analytic, numeric, compare   the steps, with an error for each estimate; grain.cpp where f is rounded
//   explain, mistakes, factors   the op at fault, and the name of the mistake
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "autograd/var.hpp"

namespace glim {

struct GradcheckOptions {
  // Full compares all of J: row i of the analytic one is a backward from dy = e_i, column j of the numeric one takes two
  // forwards, and more where a derivative is 0 or undecided. It compares Jᵀu for a random u too, since some backwards
  // are right for each e_i and wrong for a general dy. (A plain sum, u = 1, hides most mistakes in a softmax.)
  // Projection compares one number for each input, vᵀJᵀu with random u and v. When it differs, halving v finds the element.
  enum class Mode { Full, Projection };
  // How much of a failure is explained: the name of its mistake, by f's Jacobian (mistakes.hpp); the ops at fault, with
  // file and line. Each op that f recorded is checked against its own forward.
  enum class Explain { Nothing, Mistake, Ops };

  std::string name = "function";  // for the report
  Mode mode = Mode::Full;
  Explain explain = Explain::Ops;
  int directions = 1;         // random directions in Projection mode
  bool second_order = false;  // check (x, dy) ↦ Jᵀdy instead of f: the gradient of the gradient
  // Zero means by dtype. float64: atol 1e-7, rtol 1e-5. float32: atol 1e-5, rtol 1e-3 where the differences are computed
  // in float64 and the analytic side alone in float32; atol 2e-3, rtol 1e-2 against its own, if f has constants of float32.
  double atol = 0, rtol = 0;
  // Differences of eighth order: atol 1e-11, rtol 1e-10. A derivative that no step decides so closely is held to the
  // ordinary tolerances, and counted as of low precision. ValueError in float32.
  bool precise = false;
  // f may round to fewer digits than its dtype has, as another program may: a grain is looked for.
  bool may_round = false;
  std::uint64_t seed = 0;  // u and v are drawn from it

  // Every check of this thread is precise, whatever it asks for, unless it has an input in float32.
  static inline thread_local bool all_precise = false;
};

// A variable of its own with the elements of the given view, whatever memory is behind it: an expanded (stride 0) or
// overlapping view is numel() independent elements, and two inputs that share storage are two variables. f must have the
// same value on the views and on copies of them.
struct GradcheckInput {
  GradcheckInput(Tensor x) : value(std::move(x)) {}
  GradcheckInput(std::string name_in_report, Tensor x, bool checked = true)
      : value(std::move(x)), name(std::move(name_in_report)), check(checked) {}
  Tensor value;
  std::string name;   // "x0", "x1", ... when empty
  bool check = true;  // false: passed to the function, not checked
};

// The outputs of a function: one Var or several. Outputs of int64 and bool are left out.
struct CheckedOutputs : std::vector<Var> {
  CheckedOutputs(Var y) : vector{std::move(y)} {}
  CheckedOutputs(std::vector<Var> ys) : vector(std::move(ys)) {}
};
using CheckedFunction = std::function<CheckedOutputs(const std::vector<Var>& xs)>;
// It reads leaves that it captured, as a module's parameters.
using CheckedClosure = std::function<CheckedOutputs()>;

struct GradcheckReport;
// generator() is set back before every evaluation, so that a dropout within draws one mask.
// ValueError when no input is of a floating dtype, when an option is out of range, or when a full
// Jacobian would have more than 2^24 elements; whatever the function throws passes through.
GradcheckReport gradcheck(const CheckedFunction& function,
                          const std::vector<GradcheckInput>& inputs,
                          const GradcheckOptions& options = {});
// A check of leaves that the closure reads, errors as above. A leaf of two names is checked once.
// Values are put back when done; grad() is not touched. Leaves that are not trainable are skipped.
GradcheckReport gradcheck(const CheckedClosure& function, const NamedParameters& parameters,
                          const GradcheckOptions& options = {});

// ---- the report, for who prints or counts ----

// One derivative by both ways.
struct ComparedDerivative {
  Shape index;             // the element's, within the input
  bool projected = false;  // true for Jᵀu and vᵀJᵀu; else one element of the output:
  std::size_t output = 0;
  Shape output_index;
  double analytic = 0, numeric = 0;
  double excess = -1;  // absolute() over the allowed error: above 1 is wrong; -1 when unchecked
  double absolute() const { return std::abs(analytic - numeric); }
};

// A name that explains every derivative of one input (autograd/gradcheck/mistakes.hpp).
struct Mistake {
  std::string name;    // empty: none fits
  Index evidence = 0;  // wrong derivatives explained, less the constants fitted
};

// The findings for one input: how many derivatives, and the one furthest from its tolerance.
struct GradcheckEntry : ComparedDerivative {
  std::size_t input = 0;
  std::string name;
  Shape shape;
  DType dtype = DType::Float64;
  Index checked = 0, failed = 0, undecidable = 0;
  Index kinks = 0;     // undecidable derivatives at a kink
  Index decisive = 0;  // right, and so large that a zero or negated gradient would fail
  // Neither right nor wrong: so small that 0, or the other sign, would be within atol too, and rounding hides what they
  // are relative to their own size (compare.hpp). A gradient of the gradient is 0 in many places where a larger step finds
  // another value: there it is right, unless may_round.
  Index within_atol = 0;
  Index low_precision = 0;  // right to fewer digits: rtol 1e-5 of a precise check, 0.02 if f rounds
  Index left_open = 0;  // elements of which rounding leaves a derivative open, and none is decisive
  bool rounds = false;  // f rounds to few digits, or cancels, where the input moves
  std::string why_undecidable{};    // the last one's reason
  std::string why_low_precision{};  // the last one's reason
  // by_decade[k] counts right derivatives with an error of 10^-(k+1) to 10^-k, the last one smaller errors too. The
  // error is divided by atol/rtol + |numeric|.
  std::array<Index, 18> by_decade{};
  // Full mode: the largest excess of each element's derivatives; NaN where none was decided.
  std::vector<double> errors{};
  Mistake mistake{};  // the mistake that it looks like; in Projection mode for small Jacobians
};

struct GradcheckReport {
  std::string function;
  GradcheckOptions options;  // as used: tolerances filled in
  bool in_float64 = true;    // numeric side
  // A fault beside single derivatives, such as "is not deterministic"; else empty.
  std::string problem;
  std::vector<GradcheckEntry> inputs;  // the checked inputs
  // If a derivative is wrong: the ops whose own check fails, each op name once. Their `function` is
  // "NAME at FILE:LINE (path)". ops_right counts the others.
  std::vector<GradcheckReport> ops_at_fault;
  Index ops_right = 0;

  Index checked() const { return total(&GradcheckEntry::checked); }
  Index failed() const { return total(&GradcheckEntry::failed); }
  Index undecidable() const { return total(&GradcheckEntry::undecidable); }
  Index within_atol() const { return total(&GradcheckEntry::within_atol); }
  Index low_precision() const { return total(&GradcheckEntry::low_precision); }
  // Nothing is wrong, but no derivative is decisive; or an input has none, and has undecidable ones away from kinks or
  // some within atol alone; or rounding leaves elements open.
  bool undecided() const;
  bool passed() const { return problem.empty() && failed() == 0 && !undecided(); }
  const GradcheckEntry* worst() const;  // the largest excess; null when nothing was compared
  explicit operator bool() const { return passed(); }
  std::string to_string() const;  // one block of text, without a newline at its end
  std::string finding() const;    // its first line, after the verdict
  std::string details() const;    // its other lines, each after a newline

 private:
  Index total(Index GradcheckEntry::*count) const;
};
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);

}  // namespace glim
