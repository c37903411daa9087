// The numeric side of gradcheck: f on a line through the point, and the derivative that its differences give.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/observe/observer.hpp"
#include "tensor/random.hpp"

namespace glim::detail {

// The function to check, whichever way its inputs get in.
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
class Point {
 public:
  Point(const Subject& subject, bool in_float64);
  std::vector<double> evaluate(Observer* observer = nullptr) const;
  double element(std::size_t input, Index i) const;
  void set(std::size_t input, Index i, double value) const;
  void move_all(std::size_t input, const std::function<double(Index i)>& by) const;
  Index numel(std::size_t input) const { return copies_[input].numel(); }
  // The largest finite value that an op computes here: what f loses by rounding may be its last digit.
  double largest_inside() const;

 private:
  const Subject& subject_;
  std::vector<Tensor> copies_;
};

struct Tolerance {
  double atol, rtol;
  double allowed(double numeric) const { return atol + rtol * std::abs(numeric); }
  double excess(double analytic, double numeric) const;  // infinity when either is not finite
  bool within(double analytic, double numeric) const { return excess(analytic, numeric) <= 1; }
};

// Of float64; in a precise check where no step is more certain.
inline constexpr Tolerance kOrdinary{1e-7, 1e-5};

// A derivative from differences, and how far the true one may be from it.
struct Estimate {
  double value = 0, error = std::numeric_limits<double>::infinity();
  int level = 0;          // of its finest step
  bool rounding = false;  // is the larger part of the error
  double cut_off = 0;     // the other part
};

// f(t) at t = 0 and t = ±h, h = h(0), h(0)/4, h(0)/16, ...; each pair is evaluated when it is first asked for.
// A row is an output, or kAlong: Σ u f over all of them.
class Line {
 public:
  using F = std::function<std::vector<double>(double t)>;
  static constexpr Index kAlong = -1;
  // `size`: of the largest element that moves. `many` move: they are rounded where the step is small.
  Line(F f, std::vector<double> zero, double size, double epsilon, std::vector<double> u = {},
       bool many = false);

  double h(int level) const { return unit_ * std::ldexp(1.4375, 2 - 2 * level); }
  int ordinary() const { return ordinary_; }  // the level of h near ∛ε
  int finest() const { return finest_; }
  double epsilon() const { return epsilon_; }
  double change(int level, Index row);  // of f over the step
  // False where f may be steep within the step: what is cut off is no small part of the change of f, or the next
  // finer difference tells another story.
  bool resolved(const Estimate& e, Index row);
  // Rounding is that of values of this size, where f's own are smaller.
  void set_inside(double size) { inside_ = size; }

  double at(int level, int side, Index row);  // side -1 or 1; level -1 is f(0)
  double central(int level, Index row) {
    return (at(level, 1, row) - at(level, -1, row)) / (2 * h(level));
  }
  double gap(int level, Index row);  // between the two one-sided differences
  double rounding(int level, Index row);
  // By Neville's scheme from this level and the three coarser ones; one-sided where f is not finite on one side.
  Estimate estimate(int level, Index row);
  // The estimate that is the surest in units of its tolerance, sought from `start` on: towards finer steps, unless
  // rounding is the larger error, then the other way. Its error is infinite if no difference is finite.
  Estimate best(int start, Index row, const Tolerance& tolerance);
  // How far from the central difference a derivative may be because the point is a kink or a jump; 0 where f is
  // smooth. The one-sided differences have to stay apart until rounding is the larger part of their distance.
  double kink(Index row);

 private:
  F f_;
  std::vector<double> zero_;
  double unit_, epsilon_, moved_rounding_, inside_ = 0;
  int ordinary_, finest_;
  std::vector<double> u_;
  std::vector<std::vector<double>> sides_[2];  // by level
};

enum class Verdict { Agrees, Undecidable, Differs };

struct Judgement {
  Verdict verdict = Verdict::Undecidable;
  double numeric = 0;
  int level = 0;
  std::string because;  // why it is undecidable
  bool kink = false;    // that is why
};

inline constexpr int kPreciseStart = 6;  // h(6) = 1.3e-3

// An analytic derivative against f's. Unless it is to be precise one difference that agrees is enough. `largest` is
// Point::largest_inside, asked before a derivative is called wrong.
Judgement judge(double analytic, Line& line, Index row, const Tolerance& tolerance, bool precise,
                const std::function<double()>& largest);

// The last of the subject's values are `dy`s: (x, dy) ↦ Jᵀdy, backward itself as the function to check.
Subject gradient_of(const Subject& f, std::uint64_t seed);
// The outputs that have derivatives.
std::vector<Var> floating_only(std::vector<Var> outputs);

// Where a Jacobian is not larger, a failure is worth computing all of it.
inline constexpr Index kWholeJacobian = Index{1} << 14;

// gradcheck of any subject.
GradcheckReport compare(const Subject& subject, const GradcheckOptions& options);
// Finds the ops at fault for a report that has wrong derivatives, and names mistakes (diagnose.cpp). `checked` is the
// subject of the report: `subject`, or its gradient.
void diagnose(const Subject& subject, const Subject& checked, GradcheckReport& report);

}  // namespace glim::detail
