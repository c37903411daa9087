#include "tensor/matmul/blas.hpp"

#include <algorithm>
#include <climits>
#include <initializer_list>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/system/memory.hpp"
#include "tensor/system/process.hpp"

namespace glim {
namespace {

// The functions of the library, which is loaded when it is first asked for. They are declared here, since its header is
// not needed for anything else.
enum Cblas : int { kRowMajor = 101, kNoTranspose = 111, kTranspose = 112 };
template <class T>
using CblasGemm = void (*)(Cblas order, Cblas transpose_a, Cblas transpose_b, int m, int n, int k,
                           T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c,
                           int ldc);
struct OpenBlas {
  CblasGemm<float> sgemm;
  CblasGemm<double> dgemm;
  void (*set_num_threads)(int);
  char* (*config)();
  char* (*core)();
  int (*parallel)();
  void* (*take_buffer)(int);
  void (*give_buffer)(void*);
};

// OpenBLAS takes a buffer for each thread when it is loaded, and another for each that multiplies. Before 0.3.30 it
// asks a system that refuses one again, for ever.
void require_room_for_buffers() {
  constexpr std::size_t kBuffer = std::size_t{128} << 20, kLibrary = std::size_t{64} << 20;
  const std::size_t bytes = 2 * static_cast<std::size_t>(num_threads()) * kBuffer + kLibrary;
  if (!has_addresses(bytes))
    throw MemoryError("OpenBLAS", "the system refused " + std::to_string(bytes >> 20) +
                                      " MiB, which are two buffers per thread; raise the limit "
                                      "(ulimit -v or -d) or lower OMP_NUM_THREADS");
}

OpenBlas load_openblas() {
  require_room_for_buffers();
  void* library = load_library(GLIM_OPENBLAS);  // the build that Glim was configured with
  if (!library) library = load_library("libopenblas.so.0");
  if (!library)
    throw StateError("OpenBLAS", "not found; " GLIM_OPENBLAS_REMEDY " (" + library_error() + ")");
  OpenBlas blas{};
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library_symbol(library, name));
    if (!function) throw StateError("OpenBLAS", std::string("the library has no ") + name);
  };
  find(blas.sgemm, "cblas_sgemm");
  find(blas.dgemm, "cblas_dgemm");
  find(blas.set_num_threads, "openblas_set_num_threads");
  find(blas.config, "openblas_get_config");
  find(blas.core, "openblas_get_corename");
  find(blas.parallel, "openblas_get_parallel");
  find(blas.take_buffer, "blas_memory_alloc");
  find(blas.give_buffer, "blas_memory_free");
  // Every thread's buffer is taken while there is room for it, and kept for its products.
  blas.set_num_threads(1);
  std::vector<void*> buffers(static_cast<std::size_t>(num_threads()));
  for (void*& buffer : buffers) buffer = blas.take_buffer(0);
  for (void* buffer : buffers) blas.give_buffer(buffer);
  return blas;
}

const OpenBlas& library() {
  static const OpenBlas blas = load_openblas();
  return blas;
}

// The tiles of a product run in parallel, so a call has one thread. OpenBLAS reads its own setting, which each
// thread makes once, or OpenMP's, which ends with the parallel loop it was made in.
const OpenBlas& library_of_this_thread() {
  thread_local const bool set = [] {
    library().set_num_threads(1);
    return true;
  }();
  (void)set;
  confine_libraries();
  return library();
}

void require_blas_extents(std::initializer_list<Index> extents) {
  if (std::max(extents) > INT_MAX)
    throw ShapeError("matmul", "an extent is beyond the 32-bit integers of BLAS");
}

int blas_int(Index i) { return static_cast<int>(i); }
Cblas transposition(bool transpose) { return transpose ? kTranspose : kNoTranspose; }

}  // namespace

template <class T>
void blas_gemm(const Gemm<T>& p) {
  require_blas_extents({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  const OpenBlas& blas = library_of_this_thread();
  auto multiply = [&](auto gemm) {
    gemm(kRowMajor, transposition(p.transpose_a), transposition(p.transpose_b), blas_int(p.m),
         blas_int(p.n), blas_int(p.k), p.alpha, p.a, blas_int(p.lda), p.b, blas_int(p.ldb), p.beta,
         p.c, blas_int(p.ldc));
  };
  if constexpr (std::is_same_v<T, float>)
    multiply(blas.sgemm);
  else
    multiply(blas.dgemm);
}
template void blas_gemm(const Gemm<float>&);
template void blas_gemm(const Gemm<double>&);

BlasInfo blas_info() {
  constexpr const char* kParallel[] = {"sequential", "pthread", "openmp"};
  const OpenBlas& blas = library();
  return {blas.config(), blas.core(), kParallel[blas.parallel()]};
}

}  // namespace glim
