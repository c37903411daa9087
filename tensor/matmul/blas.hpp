// OpenBLAS, on one thread a call. The library is loaded by the first of these calls. StateError where it is not
// installed, MemoryError where its buffers find no room, ShapeError for an extent beyond its 32-bit integers.
#pragma once

#include <string>

#include "tensor/shape.hpp"

namespace glim {

// c = alpha op(a) op(b) + beta c      op(a) (m, k)   op(b) (k, n)   c (m, n)
//
// Row-major; op transposes where asked; ld* is the distance between rows as
// stored.
template <class T>
struct Gemm {
  bool transpose_a, transpose_b;
  Index m, n, k;
  T alpha;
  const T* a;
  Index lda;
  const T* b;
  Index ldb;
  T beta;
  T* c;
  Index ldc;
};
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
