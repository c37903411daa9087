// The processes that train one model together, or share other work (processes.md).
//
//   mpirun -n 4 glim train --shards 4 …
//
// All of them make the same calls in the same order. Each has the whole model, so what each computes from the
// same numbers is the same, and only what differs is exchanged.
#pragma once

#include <type_traits>
#include <vector>

#include "tensor/function_ref.hpp"
#include "tensor/tensor.hpp"

namespace glim {

class Processes {
 public:
  Processes() = default;  // this process alone
  // All processes that one mpirun (or srun) started. Before start(), or without mpirun, this process alone.
  static const Processes& world();
  // Called in main before the world is used. ValueError, in one process, when several were started and this
  // build or its MPI does not know of it; Exit in the others.
  static void start();
  // When all end: waits for the others.
  static void finish();
  // When this one cannot go on: ends the others, unless they end by themselves.
  static void abort(int status);
  // Before this one says why: of an error that all have, the first tells alone, and ends the others meanwhile.
  static void report_on_rank0();

  Index rank() const { return rank_; }
  Index size() const { return size_; }
  bool first() const { return rank_ == 0; }  // the one that writes and prints

  // Does `work`, which exchanges nothing. Where it throws, all processes end: the first in which it did throws
  // its error, the others Exit(1).
  void together(FunctionRef<void()> work) const;
  // True if `value` is true in one of the processes.
  bool any(bool value) const;
  // What each has, in the order of their ranks; all have the same number.
  template <class T>
  std::vector<T> gather(const std::vector<T>& part) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(part.size() * static_cast<std::size_t>(size_));
    gather_bytes(part.data(), all.data(), part.size() * sizeof(T));
    return all;
  }
  // x ← Σ over the processes, their number a power of two, in a tree of neighbours:
  //
  //   (x_0 + x_1) + (x_2 + x_3)          of four
  //
  // Contiguous tensors of one floating dtype, of the same shapes everywhere. Recursive halving, then doubling
  // (Thakur et al. 2005, section 4.5): each process sends and receives 2 (P - 1)/P times their bytes.
  void sum(const std::vector<Tensor>& tensors) const;
  double bytes_of_sum(Index bytes) const {
    return 2.0 * static_cast<double>(bytes) * (size_ - 1) / size_;
  }

 private:
  void gather_bytes(const void* part, void* all, std::size_t bytes) const;
  Index rank_ = 0, size_ = 1;
};

}  // namespace glim
