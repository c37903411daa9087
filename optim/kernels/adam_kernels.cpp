// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "optim/kernels/adam_kernels.hpp"

#include "optim/kernels/adam.hpp"

GLIM_EXPORT(adam)
