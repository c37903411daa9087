#include "tensor/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <strings.h>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/system/threads.hpp"

namespace glim {
namespace {
// Read once, at the first question: BLAS being told to use one thread lowers it later on.
int& threads() {
  static int n = std::min(available_threads(), kMostThreads);
  return n;
}
}  // namespace

int num_threads() { return threads(); }

void set_num_threads(int n) {
  if (n < 1)
    throw ValueError("set_num_threads", "need at least 1 thread, got " + std::to_string(n));
  if (n > kMostThreads)
    throw ValueError("set_num_threads", "at most " + std::to_string(kMostThreads) +
                                            " threads, got " + std::to_string(n));
  threads() = n;
}

void confine_libraries() {
  (void)num_threads();  // read before it is lowered
  limit_other_libraries();
}

namespace {
thread_local bool in_loop = false;

// Threads that help the one that runs a loop. Whoever is free takes the next piece, so a thread that another program
// keeps from running delays nothing, and who has finished waits for pieces that are being computed alone.
class Helpers {
 public:
  // False if another thread has them.
  bool run(std::int64_t pieces, FunctionRef<void(std::int64_t)> f) {
    std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    const int count = static_cast<int>(std::min<std::int64_t>(num_threads(), pieces)) - 1;
    if (started_ < count) start(count);
    f_ = &f;
    pieces_ = pieces;
    helpers_ = count;
    unfinished_ = pieces;
    left_ = pieces;
    ++loop_;
    loop_.notify_all();
    in_loop = true;
    help();
    in_loop = false;
    wait([&](std::int64_t n) { return n == 0; }, unfinished_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  void start(int count) {
    const int first = std::exchange(started_, count);
    start_threads(count - first, [this, first](int i) { serve(first + i); });
  }
  void help() {
    for (std::int64_t n = left_; n > 0;) {
      if (!left_.compare_exchange_weak(n, n - 1)) continue;
      try {
        (*f_)(pieces_ - n);
      } catch (...) {  // the first is thrown to who runs the loop
        std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
      if (--unfinished_ == 0) unfinished_.notify_all();
      n = left_;
    }
  }
  void serve(int id) {
    in_loop = true;
    for (std::int64_t last = 0;;) {
      wait([&](std::int64_t n) { return n != last; }, loop_);
      last = loop_;
      if (id < helpers_) help();
    }
  }
  // Spins for some 0.2 ms before it sleeps, longer than a step runs on one thread: beside a busy program, a thread
  // that spins has no time left when there is work. OpenMP's variable OMP_WAIT_POLICY=passive leaves the spinning out.
  template <class F>
  static void wait(const F& over, const std::atomic<std::int64_t>& counter) {
    static const char* policy = std::getenv("OMP_WAIT_POLICY");
    static const int spins = policy && strcasecmp(policy, "passive") == 0 ? 0 : 10000;
    for (int i = 0; i < spins; ++i) {
      if (over(counter)) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    for (std::int64_t n = counter; !over(n); n = counter) counter.wait(n);
  }

  std::mutex busy_, error_mutex_;
  std::exception_ptr error_;
  int started_ = 0;
  const FunctionRef<void(std::int64_t)>* f_ = nullptr;  // valid while pieces are left, as pieces_
  std::int64_t pieces_ = 0;
  std::atomic<int> helpers_{0};
  std::atomic<std::int64_t> left_{0}, unfinished_{0}, loop_{0};
};
}  // namespace

bool in_parallel() { return in_loop; }

void detail::run_pieces(std::int64_t pieces, FunctionRef<void(std::int64_t)> f) {
  static auto* helpers = new Helpers;  // its threads outlive what is destroyed at exit
  if (!helpers->run(pieces, f))
    for (std::int64_t i = 0; i < pieces; ++i) f(i);
}

}  // namespace glim
