#include "tensor/matmul/blas.hpp"

#include <algorithm>
#include <cblas.h>
#include <climits>
#include <initializer_list>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {
namespace {

// The tiles of a product are what runs in parallel. OpenBLAS asks its own setting, which a thread makes once,
// or OpenMP's, which ends with the parallel loop it was made in. num_threads() is read first because both
// lower omp_get_max_threads().
void one_thread_a_call() {
  thread_local const bool set = [] {
    (void)num_threads();
    openblas_set_num_threads(1);
    return true;
  }();
  (void)set;
  confine_libraries();
}

void require_blas_extents(std::initializer_list<Index> extents) {
  if (std::max(extents) > INT_MAX)
    throw ShapeError("matmul", "an extent is beyond the 32-bit integers of BLAS");
}

template <class T>
constexpr auto kGemm = cblas_dgemm;
template <>
constexpr auto kGemm<float> = cblas_sgemm;
blasint blas_int(Index i) { return static_cast<blasint>(i); }
CBLAS_TRANSPOSE transposition(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

}  // namespace

template <class T>
void blas_gemm(const Gemm<T>& p) {
  require_blas_extents({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  one_thread_a_call();
  kGemm<T>(CblasRowMajor, transposition(p.transpose_a), transposition(p.transpose_b), blas_int(p.m),
           blas_int(p.n), blas_int(p.k), p.alpha, p.a, blas_int(p.lda), p.b, blas_int(p.ldb),
           p.beta, p.c, blas_int(p.ldc));
}
template void blas_gemm(const Gemm<float>&);
template void blas_gemm(const Gemm<double>&);

BlasInfo blas_info() {
  constexpr const char* kParallel[] = {"sequential", "pthread", "openmp"};
  return {openblas_get_config(), openblas_get_corename(), kParallel[openblas_get_parallel()]};
}

}  // namespace glim
