// One product of two matrices on this thread, by a given algorithm.
#pragma once

#include "tensor/matmul/blas.hpp"
#include "tensor/matmul/plan.hpp"

namespace glim {

template <class T>
void multiply(Algorithm algorithm, const Gemm<T>& p);

}  // namespace glim
