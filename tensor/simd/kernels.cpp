// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "tensor/simd/kernels.hpp"

#include "tensor/simd/bias.hpp"
#include "tensor/simd/dropout.hpp"
#include "tensor/simd/functions.hpp"

GLIM_EXPORT(function)
GLIM_EXPORT(largest)
GLIM_EXPORT(sum_of_exponentials)
GLIM_EXPORT(add_bias)
GLIM_EXPORT(dropout)
