// Functions of float64 that give the same bits on any machine. The C library's differ from one version and
// one CPU to the next in the last place. These use + - * / and the bits of a number alone, each rounded as
// IEEE 754 says, and stay within 1 unit in the last place, exp and pow of subnormal results within 2
// (tests/tensor/portable.cpp measures it). Limits, signs of zero and NaN are those of C.
//
// A float32 function is the float64 one, rounded.
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
