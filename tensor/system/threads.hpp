// Threads of this process: OpenMP's where the compiler has it (openmp.cpp), or the standard library's (standard.cpp).
// tensor/parallel.hpp runs loops on them.
#pragma once

#include <functional>
#include <mutex>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace glim {

// True only if the process has one thread, which may do without locks; false where the system does not say.
inline bool single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded;
#else
  return false;
#endif
}

// OMP_NUM_THREADS, or the number of processors.
int available_threads();
// Parallel regions of other libraries in this process get one thread.
void limit_other_libraries();
// f(0) ... f(count - 1), each on a thread that runs to the end of the program. Fewer, where the process may have no
// more threads.
void start_threads(int count, std::function<void(int)> f);

// A process that fork() makes has the thread that forked, and the locks of all. Such a mutex is free in it: fork waits
// until no other thread holds it. Register an inner mutex before the outer one.
void hold_across_fork(std::mutex& mutex);
void on_fork(void (*f)());  // calls f in each such process
inline std::mutex& new_mutex() {
  auto* mutex = new std::mutex;
  hold_across_fork(*mutex);
  return *mutex;
}

}  // namespace glim
