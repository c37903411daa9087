// Parallel loops, on the threads of tensor/system.
//
// Work is cut into pieces that depend on the problem alone, never on the number of threads, and a
// piece is computed by one thread from beginning to end. So the bits of a result do not depend on
// who computed which piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/function_ref.hpp"

namespace glim {

// Threads in use: OMP_NUM_THREADS or the number of processors, but at most kMostThreads; until
// set_num_threads (ValueError below 1 and beyond kMostThreads).
int num_threads();
void set_num_threads(int n);
// As many as Debian builds OpenBLAS for. With twice as many callers at once it runs out of buffers for
// them and crashes (0.3.21).
inline constexpr int kMostThreads = 64;

// Regions that other libraries open from this thread get one thread; ours name their number.
void confine_libraries();

// True within a parallel loop: nested loops run on the thread that meets them.
bool in_parallel();

namespace detail {
// Calls f(piece) for piece in [0, pieces), in any order, on all threads.
void run_pieces(std::int64_t pieces, FunctionRef<void(std::int64_t)> f);
}  // namespace detail

// f(i) for every i in [0, n): each one is a piece of work worth a thread's while.
inline void parallel_each(std::int64_t n, FunctionRef<void(std::int64_t)> f) {
  if (n <= 1 || num_threads() == 1 || in_parallel()) {
    for (std::int64_t i = 0; i < n; ++i) f(i);
  } else {
    detail::run_pieces(n, f);
  }
}

// f(begin, end) over [0, n) in pieces of `grain` (the last may be shorter).
inline void parallel_for(std::int64_t n, std::int64_t grain,
                         FunctionRef<void(std::int64_t, std::int64_t)> f) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  std::int64_t pieces = n / grain + (n % grain != 0);
  parallel_each(pieces,
                [&](std::int64_t p) { f(p * grain, n - p * grain < grain ? n : (p + 1) * grain); });
}

}  // namespace glim
