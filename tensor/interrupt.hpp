// Two ends of a computation where it takes memory for a tensor, whatever op it is in: from outside, as for a signal, and
// for taking too much.
//
//   std::atomic<bool> stop{false};     // set by a handler or by another thread
//   Interruptible until_stop(&stop);   // until the end of the block, on this thread
//   tape.backward(loss);               // throws Interrupted soon after stop became true
//
//   MemoryLimit limit(64 << 20);       // until the end of the block, on this thread
//   Gpt model(sizes_of_a_file);        // throws MemoryError where its tensors take more in all
//
// Interrupted leaves behind what a MemoryError would.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "tensor/error.hpp"

namespace glim {

struct Interrupted {};  // no std::exception: it is no error

class Interruptible {
 public:
  explicit Interruptible(const std::atomic<bool>* stop) : before_(std::exchange(stop_, stop)) {}
  ~Interruptible() { stop_ = before_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  static void check() {
    if (stop_ && stop_->load(std::memory_order_relaxed)) throw Interrupted{};
  }

 private:
  static inline constinit thread_local const std::atomic<bool>* stop_ = nullptr;
  const std::atomic<bool>* before_;
};

class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t bytes) : before_(std::exchange(left_, bytes)) {}
  ~MemoryLimit() { left_ = before_; }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  static void take(std::size_t bytes) {
    if (left_ == kNone) return;
    bytes += 1024;  // objects around a tensor
    if (bytes > left_) throw MemoryError("storage", "more than the limit is needed");
    left_ -= bytes;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static inline constinit thread_local std::size_t left_ = kNone;
  std::size_t before_;
};

}  // namespace glim
