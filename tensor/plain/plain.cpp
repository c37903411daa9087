// The functions of tensor/fast in their plainest form: one thread, one instruction set, the sums of a product's
// definition, the system's memory. It is compiled where that folder is missing (tests/plain.sh).
#include <atomic>
#include <cstdlib>
#include <new>

#include "tensor/block.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/blas.hpp"
#include "tensor/parallel.hpp"
#include "tensor/simd/isa.hpp"

namespace glim {

int num_threads() { return 1; }
void set_num_threads(int) {}
bool in_parallel() { return false; }
void detail::run_pieces(std::int64_t pieces, FunctionRef<void(std::int64_t)> f) {
  for (std::int64_t i = 0; i < pieces; ++i) f(i);
}

Amx amx() { return Amx::None; }
Isa best_isa() { return Isa::Baseline; }
std::vector<Isa> supported_isas() { return {Isa::Baseline}; }
std::string_view name_of(Isa) { return "baseline"; }

template <class T>
Algorithm algorithm_for(bool, bool, Index, Index, Index, GemmEngine) {
  return Algorithm::EmptySum;  // whichever: multiply has one
}
template Algorithm algorithm_for<float>(bool, bool, Index, Index, Index, GemmEngine);
template Algorithm algorithm_for<double>(bool, bool, Index, Index, Index, GemmEngine);
Tiles tiles_for(Algorithm, Index m, Index n, Index, Index batches, int) { return {m, n, batches}; }

template <class T>
void multiply(Algorithm, const Gemm<T>& p) {
  for (Index i = 0; i < p.m; ++i)
    for (Index j = 0; j < p.n; ++j) {
      T sum = 0;
      for (Index l = 0; l < p.k; ++l)
        sum += p.a[p.transpose_a ? l * p.lda + i : i * p.lda + l] *
               p.b[p.transpose_b ? j * p.ldb + l : l * p.ldb + j];
      T& c = p.c[i * p.ldc + j];
      c = p.alpha * sum + (p.beta == T(0) ? T(0) : p.beta * c);
    }
}
template void multiply(Algorithm, const Gemm<float>&);
template void multiply(Algorithm, const Gemm<double>&);
void require_bfloat16() {
  throw StateError("float32_matmul_precision", "medium: this build is without tensor/fast");
}
BlasInfo blas_info() { throw StateError("OpenBLAS", "this build is without tensor/fast"); }

namespace {
std::atomic<std::int64_t> allocated = 0, peak = 0, allocations = 0;
}  // namespace

AllocatorStats allocator_stats() { return {allocated, peak, 0, allocations, allocations}; }
void reset_peak() { peak = allocated.load(); }
void release_cache() {}

Storage::Block* take_block(std::size_t bytes) {
  void* p = std::aligned_alloc(64, (bytes + sizeof(Storage::Block) + 63) / 64 * 64);
  if (!p) throw MemoryError("storage", "the system refused " + std::to_string(bytes) + " bytes");
  auto* block = new (p) Storage::Block{};
  block->data = reinterpret_cast<std::byte*>(block + 1);
  block->bytes = bytes;
  block->version = static_cast<std::uint64_t>(++allocations) << kWriteBits;
  allocated += static_cast<std::int64_t>(bytes);
  if (allocated > peak) peak = allocated.load();
  return block;
}
void give_block(Storage::Block* block) {
  allocated -= static_cast<std::int64_t>(block->bytes);
  std::free(block);
}

}  // namespace glim
