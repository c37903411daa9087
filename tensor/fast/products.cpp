// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "tensor/fast/products.hpp"

#include "tensor/fast/amx.hpp"
#include "tensor/fast/bfloat16.hpp"
#include "tensor/fast/packed.hpp"
#include "tensor/fast/skinny.hpp"

GLIM_EXPORT(row_product)
GLIM_EXPORT(dots_product)
GLIM_EXPORT(few_rows_product)
GLIM_EXPORT(short_rows_product)
GLIM_EXPORT(packed_product)
GLIM_EXPORT_OF(bfloat16_product)
GLIM_EXPORT_OF(amx_product)
