// The checks beside differences, a function each.
#pragma once

#include "tools/foreign/calls.hpp"

namespace glim::foreign {

// The point at which all is checked, and what the first calls gave there.
struct Probe {
  Calls& calls;
  Tensors x;
  GradcheckOptions options;  // as given: a tolerance of 0 is the default
  double near;  // relative: gradients that are closer are equal, as far as backward rounds
  double step = 0x1p-17;  // of a difference along a line; larger if f or backward rounds
  double rounded = 0;     // relative: the rounding that `linear` has found in backward
  Tensors y{}, dy{}, dx{};
  bool rounds = false;                        // f rounds to few digits
  std::vector<std::string> shape_mistakes{};  // by input, of its gradient
  std::vector<std::string> untried{};         // inputs that f does not take: "negative values"

  Tensors gradient(const Tensors& upstream) { return calls.gradient(x, upstream); }
  // True if backward gives its first gradient again. An exception is another result, too.
  bool repeats();
  Tensors random_dy(std::uint64_t stream) const;
  // The options of a check along one direction, unexplained, with the seed and the tolerances of this one. atol is an error
  // of the gradients here, and the same share of others.
  GradcheckOptions along_one() const;
  double largest_dx() const;
};
// Like y; undefined for an output of int64 or bool.
Tensors random_dy(const Tensors& y, std::uint64_t seed, std::uint64_t stream);

// Calls f and backward for the first time. If there is no gradient to check, `dx` stays empty.
FunctionCheck check_form(Probe& p);
FunctionCheck check_linear(Probe& p);      // backward(a u + b v) = a backward(u) + b backward(v)
FunctionCheck check_repeatable(Probe& p);  // twice the same call gives the same bits
FunctionCheck check_stateless(Probe& p);  // so it does with another call between the two, or within
FunctionCheck check_inputs(const Probe& p);
FunctionCheck check_batch(Probe& p);
FunctionCheck check_broadcast(Probe& p, const GradcheckReport& differences);
FunctionCheck check_elsewhere(Probe& p);

// A name for the mistake that `wrong` has found, or an empty text (naming.cpp). The names within `wrong` that rounding
// explains are replaced.
std::string name_mistake(Probe& p, GradcheckReport& wrong);

// ---- what they are made of ----

Tensors combine(double a, const Tensors& u, double b, const Tensors& v);  // a u + b v
bool same(const Tensors& a, const Tensors& b);                            // every bit
// Relative to the largest finite element, or to 1: a gradient of 0 may be rounding, as that of attention's key bias is.
// NaN is close to NaN at the same place, and an infinity to itself.
bool alike(const Tensor& a, const Tensor& b, double near);
bool close(const Tensors& a, const Tensors& b, double near);
std::string digits_of(double rounded);  // "backward rounds to about 3 digits"
bool vanishes(const Tensors& a);        // every element is 0
double largest(const Tensor& x);
// x with each element scaled by a small factor of its own: an affine change would leave a norm as it is.
Tensor beside(const Tensor& x);
inline constexpr const char* kNoneBeside = "f does not take inputs beside the given ones";
bool broadcasts(const Shape& source, const Shape& target);

}  // namespace glim::foreign
