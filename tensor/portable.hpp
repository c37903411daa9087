// Functions of float64 that give the same bits on any machine. The C library's differ from one
// version and one CPU to the next in the last place. These use + - * / and the bits of a number
// alone, each rounded as IEEE 754 says; tensor/numerics.md has their errors. Limits, signs of zero
// and NaN are those of C. A float32 function is the float64 one, rounded.
//
// The formulas are in tensor/portable_formulas.hpp and tensor/portable_angles.hpp. Kernels compute
// them in vectors.
#pragma once

namespace glim::portable {

double exp(double x);
double log(double x);
double pow(double x, double y);
double tanh(double x);
double erf(double x);
double sin(double x);
double cos(double x);

}  // namespace glim::portable
