// Ends a computation from outside, as for a signal, whatever op it is in.
//
//   std::atomic<bool> stop{false};     // set by a handler or by another thread
//   Interruptible until_stop(&stop);   // until the end of the block, on this thread
//   tape.backward(loss);               // throws Interrupted soon after stop became true
//
// It is thrown where memory for a tensor is taken, and leaves behind what a MemoryError would.
#pragma once

#include <atomic>
#include <utility>

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

}  // namespace glim
