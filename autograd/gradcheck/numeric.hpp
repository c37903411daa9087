// The numeric side of gradcheck: evaluating f beside a point, and judging a derivative.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck/gradcheck.hpp"
#include "tensor/random.hpp"

namespace glim::detail {

// What is checked, whichever way its inputs get in.
struct Subject {
  std::vector<std::string> names;
  std::vector<Tensor> values;  // as given, views included
  std::vector<bool> checked;
  // Runs the function on the current tape at `at`; xs[k] becomes the leaf of input k. `recorded`:
  // derivatives of the result will be asked for. All outputs are floating.
  std::function<std::vector<Var>(const std::vector<Tensor>& at, std::vector<Var>& xs,
                                 bool recorded)>
      run;
};

// The values of all outputs one after the other, in float64.
std::vector<double> flatten(const std::vector<Var>& outputs);

// Sets generator() back at the end of a block.
class SameRandom {
 public:
  SameRandom() : before_(generator()) {}
  ~SameRandom() { generator() = before_; }
  SameRandom(const SameRandom&) = delete;
  SameRandom& operator=(const SameRandom&) = delete;

 private:
  Generator before_;
};

// Random, of magnitude in [½, 3/2) and of either sign: nothing cancels, nothing is overlooked.
double signed_random(RandomKey key, Index i);

// signed_random in y's shape and dtype.
Tensor random_like(const Tensor& y, RandomKey key);

// The position of element i, in row-major order.
Shape unravel(const Shape& shape, Index i);

// Row-major copies of the inputs, whose elements are moved one by one.
class Neighbourhood {
 public:
  Neighbourhood(const Subject& subject, bool in_float64);
  std::vector<double> evaluate() const;
  double element(std::size_t input, Index i) const;
  void set(std::size_t input, Index i, double value) const;
  Index numel(std::size_t input) const { return copies_[input].numel(); }

 private:
  const Subject& subject_;
  std::vector<Tensor> copies_;
};

// f on both sides of a point along one direction: at kh, for k = 1, or for k = 1 to 4.
struct Probe {
  double h, zero;
  std::vector<double> minus, plus;
  double scale;  // of the values that f was summed from: rounding is some ε of it

  // Σ_k c_k (f(kh) - f(-kh)) / h: of second order with one pair, of eighth with four.
  double central() const;
  // How far central() may be from the derivative, of four pairs. By cutting off: its distance from the stencil
  // of sixth order, and the eighth difference of f, which a kink at the point itself does not let vanish.
  double cut_off() const;
  // Of values all the same to the bit, a derivative of half an ulp over the distance of the outer two at most.
  double rounding(double epsilon) const { return (constant() ? 0.125 : 4) * epsilon * scale / h; }
  bool constant() const;
  double right() const { return (plus[0] - zero) / h; }
  double left() const { return (zero - minus[0]) / h; }
  double gap() const { return std::abs(right() - left()); }
};

struct Tolerance {
  double atol, rtol;
  double allowed(double numeric) const { return atol + rtol * std::abs(numeric); }
  double excess(double analytic, double numeric) const;  // infinity when either is not finite
  bool within(double analytic, double numeric) const { return excess(analytic, numeric) <= 1; }
};

enum class Verdict { Agrees, Undecidable, Differs };

inline constexpr int kLevels = 3;     // the step, and two refinements
inline constexpr int kAllLevels = 5;  // and two coarser ones, for f that rounding spoils
// Before these, of the eighth order: steps of 4³ down to 4⁻⁶ of the one that is tried first. At a bend, as that
// of relu(x)² at 0, a still finer one would take its error, of the size of h, for a twentieth.
inline constexpr int kPreciseLevels = 10, kPreciseFirst = 3;
// 8-fold refinement in float64; in float32 rounding allows less.
inline double refinement(bool in_float64) { return in_float64 ? 8 : 4; }

// Compares with probe(0), then with finer ones; where these contradict each other, with coarser ones: large values
// that cancel within f leave more rounding than its own value shows. `numeric` becomes the first value that
// agreed, else that of probe(0).
Verdict judge(double analytic, const std::function<Probe(int level)>& probe, Tolerance tolerance,
              double epsilon, double& numeric);

// How far from last.central() a derivative may lie because the point is a kink or a jump, which two probes
// show that differ in their step; 0 where f is smooth.
double excused_by_kink(const Probe& first, const Probe& last, double epsilon);

// The derivative of eighth order at the level whose uncertainty is least: from the first, towards coarser steps
// if rounding is the larger part of it, else towards finer ones, until the other part is the larger. A level
// that leaves a tenth of the tolerance is taken. `uncertain` says why none is certain to the tolerance, or nothing.
struct PreciseDerivative {
  double value = 0;
  std::string uncertain;
};
PreciseDerivative precise_derivative(const std::function<Probe(int level)>& probe,
                                     Tolerance tolerance, double epsilon);

// gradcheck of any subject.
GradcheckReport compare(const Subject& subject, const GradcheckOptions& options);

}  // namespace glim::detail
