// The gradient checker: are the derivatives that backward computes those of the function?
//
// For a function f from inputs x to outputs y, with Jacobian J = ∂y/∂x, backward gives Jᵀ dy ("analytic") and
// forward alone gives differences ("numeric")
//
//   (f(x + h e) - f(x - h e)) / 2h  =  J e  +  h² f'''/6  +  ε |f| / h
//
// with an error of cutting off and one of rounding. A derivative is right when
//
//   |analytic - numeric| <= atol + rtol |numeric|       (not so for NaN and infinities)
//
// Steps. The first step is 5e-6 max(1, |x|), near ∛ε (Press et al., "Numerical Recipes", section 5.7). One difference
// that agrees is enough. Otherwise the step follows f's own scale: it is made 4-fold smaller, and then larger, and
// Neville's scheme takes the powers of h out of each four neighbours (Ridders 1982, "Accurate computation of
// F'(x)"). Each result has an estimate of its error, from its neighbours, from rounding, and from the distance of
// the one-sided differences where that does not fall with h. The smallest error among finite results wins. A step that
// leaves the domain of f gives no finite difference, so smaller ones count, or the differences of one side.
//
// Verdicts. An estimate whose error is within the tolerance decides: right or wrong. So does one that is far
// from the analytic value in units of its error. All others are undecidable, and the report says why: rounding, a kink,
// a place that is too steep. Before a derivative is called wrong, rounding is taken to be that of the largest value
// that any op inside f computes.
//
// Undecided is not passed. A derivative tells if it was found right and is so far from 0 that a missing gradient, or one
// of the other sign, would have been wrong. A report in which none tells is undecided, and so is one with an input of
// which none tells and some are undecidable where there is no kink.
//
// Precise checks start from four pairs of points, h = 1e-3 to 0.09, and hold derivatives to rtol 1e-10. An estimate
// that agrees so closely needs no smaller error than an ordinary one. Where none agrees and none is that certain, the
// ordinary check takes its place. The derivative is counted as coarse, with the reason.
//
// Modes. Full mode compares all of J: row i of the analytic one is a backward from dy = e_i, column j of the numeric
// one takes two forwards. It compares Jᵀu for a random u too, since a backward may be wrong only in how it uses dy (a
// plain sum, u = 1, hides most of what can go wrong in a softmax). Projection mode compares one number for each input,
// vᵀJᵀu with random u and v. When it differs, halving v finds the element.
//
// Kinks. Where f is not differentiable (relu at 0, a tie in max, an edge of clamp or of a mask) no derivative is the
// right one. Their mark are one-sided differences that stay apart until rounding is the larger part of their distance.
// A derivative between them is undecidable. Along a direction the kinks of several elements may cancel: a
// projection that differs is compared again without the elements whose own kinks explain their part.
//
// Inputs. Each is a variable of its own whose elements are those of the view given, whatever memory is behind it: an
// expanded (stride 0) or otherwise overlapping view is numel() independent elements, and two inputs that share storage
// are two variables. Steps are made in copies, one logical element at a time, while backward runs on the views as given.
// f must have the same value on both. (For the gradient of the few elements behind an expanded view, give these and let
// the function call broadcast_to.) Inputs of int64 and bool are passed on unchecked.
//
// float32. Its own differences are good to two or three digits, so f is evaluated in float64 copies of the inputs where
// it allows (no constants of fixed dtype inside), and only the analytic side is float32.
//
// Mistakes. When a check fails, each op that the function recorded is checked against its own forward (diagnose.cpp).
// The report names the ops that are wrong, with file and line, and what their Jacobians look like
// (mistakes/mistakes.hpp): a sign, a factor, a missing transpose, a lost term. It says how many derivatives say so. A
// value that backward reads after a later forward has changed it is found by running such a forward.
//
// Random numbers. generator() is set back before every evaluation, so that a dropout inside draws one mask. A function
// that is still not the same twice is reported as not deterministic.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "autograd/var.hpp"

namespace glim {

struct GradcheckOptions {
  enum class Mode { Full, Projection };
  enum class Differences { Float64, SameDType };

  std::string name = "function";  // for the report
  Mode mode = Mode::Full;
  int directions = 1;         // random directions in Projection mode
  bool second_order = false;  // check (x, dy) ↦ Jᵀdy instead of f: the gradient of the gradient
  // Zero means by dtype. float64: atol 1e-7, rtol 1e-5. float32: atol 1e-5, rtol 1e-3 against differences in
  // float64; atol 2e-3, rtol 1e-2 against its own.
  double atol = 0, rtol = 0;
  // Differences of eighth order: atol 1e-11, rtol 1e-10. ValueError in float32.
  bool precise = false;
  Differences differences = Differences::Float64;
  std::uint64_t seed = 0;  // of u and v
};

// Every gradcheck of this thread until the end of the block is precise, whatever tolerances it asks for,
// unless it has an input in float32.
class PreciseGradchecks {
 public:
  explicit PreciseGradchecks(bool on = true);
  ~PreciseGradchecks();
  PreciseGradchecks(const PreciseGradchecks&) = delete;
  PreciseGradchecks& operator=(const PreciseGradchecks&) = delete;

 private:
  bool before_;
};

struct GradcheckInput {
  GradcheckInput(Tensor x) : value(std::move(x)) {}
  GradcheckInput(std::string given_name, Tensor x)
      : value(std::move(x)), name(std::move(given_name)) {}
  // Passed to the function, not checked.
  static GradcheckInput constant(Tensor x) {
    GradcheckInput input(std::move(x));
    input.check = false;
    return input;
  }
  Tensor value;
  std::string name;  // "x0", "x1", ... when empty
  bool check = true;
};

// f(args...) -> one Var or several; outputs of int64 and bool are left out.
template <class... Args>
class CheckedCall {
 public:
  template <class F>
  requires std::invocable<F&, Args...> CheckedCall(F f)
      : call_([f = std::move(f)](Args... args) mutable {
          if constexpr (std::same_as<std::invoke_result_t<F&, Args...>, std::vector<Var>>)
            return f(args...);
          else
            return std::vector<Var>{f(args...)};
        }) {}
  std::vector<Var> operator()(Args... args) const { return call_(args...); }

 private:
  std::function<std::vector<Var>(Args...)> call_;
};
using CheckedFunction = CheckedCall<const std::vector<Var>&>;
// What it reads are leaves that it captured, as a module's parameters.
using CheckedClosure = CheckedCall<>;

// One derivative by both ways.
struct ComparedDerivative {
  Shape index;             // of the element within the input
  bool projected = false;  // of Jᵀu or vᵀJᵀu; else of one element of the output:
  std::size_t output = 0;
  Shape output_index;
  double analytic = 0, numeric = 0;
  double absolute = 0;  // |analytic - numeric|
  double relative = 0;  // the same over the larger of the two
  double excess = -1;   // the same over atol + rtol |numeric|: above 1 is wrong; -1 when unchecked
  // Why the ordinary check took the place of the precise one; else empty.
  std::string coarse_because;
};

// A name that explains every derivative of one input (mistakes.hpp).
struct Mistake {
  std::string name;    // empty: none fits
  Index evidence = 0;  // wrong derivatives explained, less the constants fitted
};

// What was found for one input: how many derivatives, and the one furthest from its tolerance.
struct GradcheckEntry : ComparedDerivative {
  std::size_t input = 0;
  std::string name;
  Shape shape;
  DType dtype = DType::Float64;
  Index checked = 0, failed = 0, undecidable = 0;
  Index kinks = 0;    // of the undecidable ones, how many are at a kink
  Index telling = 0;  // right, and so far from 0 that no gradient, or one of the other sign, is not
  std::string why_undecidable;  // of the last of them
  Index coarse = 0;             // of a precise check: right, to atol 1e-7 and rtol 1e-5 alone
  std::string why_coarse;       // of the last of them
  // Of those that are right, how many have an error, over atol/rtol + |numeric|, of 10^-(k+1) to 10^-k; the
  // last counts all that are smaller.
  std::array<Index, 18> by_decade{};
  Mistake mistake;  // what a wrong gradient looks like; in Projection mode for small Jacobians
};

struct GradcheckReport {
  std::string function;
  GradcheckOptions options;  // as used: tolerances filled in
  bool in_float64 = true;    // numeric side
  bool deterministic = true;
  // What is wrong apart from single derivatives: not deterministic, another value on a view than
  // on its copy, an input changed. Empty when all is well.
  std::string problem;
  std::vector<GradcheckEntry> inputs;  // those that were checked
  // If a derivative is wrong: each op that the function recorded was checked against its own forward. Those that are
  // wrong, `function` being "NAME at FILE:LINE (path)", each name once; and how many ops were right.
  std::vector<GradcheckReport> ops_at_fault;
  Index ops_right = 0;

  Index checked() const { return total(&GradcheckEntry::checked); }
  Index failed() const { return total(&GradcheckEntry::failed); }
  Index undecidable() const { return total(&GradcheckEntry::undecidable); }
  Index coarse() const { return total(&GradcheckEntry::coarse); }
  // Nothing is wrong, but a missing gradient would look the same: no derivative other than 0 was found right, of all, or by
  // an input of which some are undecidable, not for a kink.
  bool undecided() const;
  bool passed() const { return problem.empty() && failed() == 0 && !undecided(); }
  const GradcheckEntry* worst() const;  // the largest excess; null when nothing was compared
  explicit operator bool() const { return passed(); }
  std::string to_string() const;  // one block of text, without a newline at its end

 private:
  Index total(Index GradcheckEntry::*of) const;
};
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);

// ValueError when no input is of a floating dtype, when an option is out of range, or when a full
// Jacobian would have more than 2^24 elements; whatever the function throws passes through.
GradcheckReport gradcheck(const CheckedFunction& function,
                          const std::vector<GradcheckInput>& inputs,
                          const GradcheckOptions& options = {});
// The same with regard to leaves that the closure reads. A leaf under two names is checked once.
// Values are put back when done; grad() is not touched. Leaves that are not trainable are skipped.
GradcheckReport gradcheck(const CheckedClosure& function, const NamedParameters& parameters,
                          const GradcheckOptions& options = {});

}  // namespace glim
