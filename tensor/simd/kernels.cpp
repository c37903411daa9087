// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "tensor/simd/kernels.hpp"

#include "tensor/matmul/packed.hpp"
#include "tensor/matmul/skinny.hpp"
#include "tensor/simd/bias.hpp"
#include "tensor/simd/dropout.hpp"
#include "tensor/simd/functions.hpp"

GLIM_EXPORT(function)
GLIM_EXPORT(largest)
GLIM_EXPORT(sum_of_exponentials)
GLIM_EXPORT(add_bias)
GLIM_EXPORT(dropout)
GLIM_EXPORT(row_product)
GLIM_EXPORT(dots_product)
GLIM_EXPORT(few_rows_product)
GLIM_EXPORT(short_rows_product)
GLIM_EXPORT(packed_product)
