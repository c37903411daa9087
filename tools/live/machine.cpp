// The machine that a page runs on, as far as it is known: a module's memory grows to 2 GB, and there is no OpenBLAS.
#include "tools/common/machine.hpp"

#include "tensor/error.hpp"
#include "tensor/matmul/blas.hpp"

namespace glim {

Machine inspect_machine(const std::string&) {
  Machine m;
  m.processors = 1;
  m.memory_bytes = std::int64_t{1} << 31;
  return m;
}

template <class T>
void blas_gemm(const Gemm<T>&) {
  throw StateError("matmul", "a page has no OpenBLAS");
}
template void blas_gemm(const Gemm<float>&);
template void blas_gemm(const Gemm<double>&);
BlasInfo blas_info() { return {"none", "WebAssembly", "sequential"}; }

}  // namespace glim
