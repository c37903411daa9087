// Gradient descent of particle and saddle, in whose functions there are derivatives.
#pragma once

#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

enum class Mode { Forward, Reverse };

// ∂f/∂x of a number f(x). While a tape records it is on the tape, for the derivative around it.
using Scalar = std::function<Var(const Var& x)>;
Var slope(const Scalar& f, Var x, Mode mode);

// The x of the smallest f(x), by GradBench's descent: the step doubles after ten that went down, and halves after one that
// did not. It ends at a slope or a step below 1e-5.
Var lowest(const Scalar& f, Var x, Mode mode);

// Evaluations of four functions, rr ff fr rf: the mode of the outer derivative, then that of the inner one.
Functions nested(const std::function<Tensor(const Json& input, Mode outer, Mode inner)>& run);

}  // namespace glim::gradbench
