// OpenBLAS, on one thread a call. The library is loaded by the first of these calls. StateError where it is not
// installed, MemoryError where its buffers find no room, ShapeError for an extent beyond its 32-bit integers.
#pragma once

#include <string>

#include "tensor/matmul/plan.hpp"

namespace glim {

// All extents at least 1.
template <class T>
void blas_gemm(const Gemm<T>& p);

struct BlasInfo {
  std::string config;    // the library's description of its build
  std::string core;      // the kernels it chose for this CPU
  std::string parallel;  // "sequential", "pthread" or "openmp"
};
BlasInfo blas_info();

}  // namespace glim
