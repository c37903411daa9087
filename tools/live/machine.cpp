// The machine that a page runs on, as far as it is known: a module's memory grows to 2 GB, it has one thread, and there
// is no OpenBLAS.
#include "tensor/system/machine.hpp"

#include "tensor/error.hpp"
#include "tensor/matmul/blas.hpp"
#include "tensor/parallel.hpp"
#include "tensor/system/threads.hpp"

namespace glim {

Machine inspect_machine(const std::string&) {
  Machine m;
  m.processors = 1;
  m.memory_bytes = std::int64_t{1} << 31;
  return m;
}

int num_threads() { return 1; }
void set_num_threads(int) {}
void hold_across_fork(std::mutex&) {}
bool in_parallel() { return false; }
void detail::run_pieces(std::int64_t pieces, FunctionRef<void(std::int64_t)> f) {
  for (std::int64_t i = 0; i < pieces; ++i) f(i);
}

template <class T>
void blas_gemm(const Gemm<T>&) {
  throw StateError("matmul", "a page has no OpenBLAS");
}
template void blas_gemm(const Gemm<float>&);
template void blas_gemm(const Gemm<double>&);
BlasInfo blas_info() { return {"none", "WebAssembly", "sequential"}; }

}  // namespace glim
