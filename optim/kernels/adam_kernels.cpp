// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "optim/kernels/adam_kernels.hpp"

#include "optim/kernels/adam.hpp"
#include "tensor/simd/dispatch.hpp"

namespace glim::GLIM_ISA {

template <class T>
constexpr StepKernels<T> kStepKernels{.adam = adam<T>};

}  // namespace glim::GLIM_ISA

GLIM_KERNELS(StepKernels, step_kernels, kStepKernels)
