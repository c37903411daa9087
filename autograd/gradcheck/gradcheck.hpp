// The gradient checker: are the derivatives that backward computes those of the function?
//
// For a function f from inputs x to outputs y, with Jacobian J = ∂y/∂x, backward gives Jᵀ dy
// ("analytic") and forward alone gives the central difference ("numeric")
//
//   (f(x + h e) - f(x - h e)) / 2h  =  J e  +  h² f'''/6  +  ε |f| / h
//
// whose two errors, of cutting off and of rounding, are together smallest near h = ∛ε max(1, |x|),
// ε the unit of rounding (Press et al., "Numerical Recipes", section 5.7). In float64 h = 6e-6 and
// the error is some 1e-10, which is why checks belong in float64. A derivative is right when
//
//   |analytic - numeric| <= atol + rtol |numeric|       (not so for NaN and infinities)
//
// A precise check takes four pairs of points at kh (Fornberg 1988, "Generation of finite difference
// formulas", table 1),
//
//   f'(x)  =  Σ_k c_k (f(x + kh) - f(x - kh)) / h,    c = 4/5, -1/5, 4/105, -1/280,
//
// whose error h⁸ f⁽⁹⁾/630 allows a step of 1/64: rounding is then some 1e-14, and rtol is 1e-10. The step
// is changed 4-fold until the difference knows itself to the tolerance, by the stencil of sixth order and
// the eighth difference: it becomes coarser where rounding is the larger error, as of large values, and finer
// where cutting off is. Where no step is certain (a kink nearer than 1e-4, a value of 700 that is steep) the
// ordinary check takes its place, the derivative is counted as coarse, and the report says why.
//
// Full mode compares all of J: row i of the analytic one is a backward from dy = e_i, column j of
// the numeric one two forwards; and then Jᵀu for a random u, since a backward may be wrong only in
// how it uses dy (a plain sum, u = 1, hides most of what can go wrong in a softmax). Projection
// mode compares one number for each input, vᵀJᵀu with random u and v, in three forwards and one
// backward; when it differs, halving v finds the element.
//
// Kinks. Where f is not differentiable (relu at 0, a tie in max, an edge of clamp or of a mask) no
// derivative is the right one. Where the two disagree, the step is refined 8-fold, twice: a kink
// beside x falls outside, and they agree. If these differences contradict each other, they are
// rounding, and steps 8 and 64 times coarser have less of it. If they still differ, the one-sided
// differences decide: for a smooth f their gap is h|f''| and shrinks with h; if it does not, and explains
// the disagreement, the derivative is counted as undecidable, neither right nor wrong. Along a direction the
// kinks of several elements may cancel: a projection that differs is compared again without the elements
// whose own kinks explain their part, and is undecidable if the rest agrees.
//
// Inputs. Each is a variable of its own whose elements are those of the view given, whatever lies
// behind it: an expanded (stride 0) or otherwise overlapping view stands for numel() independent
// elements, and two inputs that share storage are two variables. So steps are made in copies, one
// logical element at a time, while backward runs on the views as given; that f has the same value
// on both is checked too. (For the gradient of the few elements behind an expanded view, give
// these and let the function call broadcast_to.) Inputs of int64 and bool are passed on unchecked.
//
// float32. Its own differences are good to two or three digits, so f is evaluated in float64
// copies of the inputs where it allows (no constants of fixed dtype inside), and only the analytic
// side is float32.
//
// Mistakes. When a full check fails, the whole wrong Jacobian is held against what known mistakes leave
// (mistakes.hpp): a sign, a factor, a missing transpose, a lost term. The report then says what it looks like,
// and how many derivatives say so. A value that backward reads after a later forward has changed it is found by
// running such a forward.
//
// Random numbers. generator() is set back before every evaluation, so that a dropout inside draws
// one mask; what is still not the same twice is reported as not deterministic.
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
  // Zero means by dtype. float64: atol 1e-7, rtol 1e-5, step 6.1e-6. float32: atol 1e-5, rtol 1e-3
  // against differences in float64; atol 2e-3, rtol 1e-2, step 4.9e-3 against its own.
  double atol = 0, rtol = 0;
  double step = 0;  // of an element is step · max(1, |x|)
  // Differences of eighth order: atol 1e-11, rtol 1e-10, step 1/64 and finer. ValueError in float32.
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
  Index coarse = 0;        // of a precise check: right, to atol 1e-7 and rtol 1e-5 alone
  std::string why_coarse;  // of the last of them
  // Of those that are right, how many have an error, over atol/rtol + |numeric|, of 10^-(k+1) to 10^-k; the
  // last counts all that are smaller.
  std::array<Index, 18> by_decade{};
  Mistake mistake;  // what a wrong gradient looks like; in Projection mode for small Jacobians
};

struct GradcheckReport {
  std::string function;
  GradcheckOptions options;  // as used: tolerances and step filled in
  bool in_float64 = true;    // numeric side
  bool deterministic = true;
  // What is wrong apart from single derivatives: not deterministic, another value on a view than
  // on its copy, an input changed. Empty when all is well.
  std::string problem;
  std::vector<GradcheckEntry> inputs;  // those that were checked

  Index checked() const { return total(&GradcheckEntry::checked); }
  Index failed() const { return total(&GradcheckEntry::failed); }
  Index undecidable() const { return total(&GradcheckEntry::undecidable); }
  Index coarse() const { return total(&GradcheckEntry::coarse); }
  const GradcheckEntry* worst() const;  // the largest excess; null when nothing was compared
  explicit operator bool() const { return problem.empty() && failed() == 0; }
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
