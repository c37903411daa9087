// Ends the program when the system refuses OpenBLAS memory: it would ask again, for ever. It takes a buffer
// for each thread before main, and another for each when they multiply; a limit of address space refuses
// them.
//
// A library's mmap is looked for in the program first, so this one is called. It is the system's but for what
// follows a refusal to OpenBLAS. Part of the program alone: libglim.a is without it.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int openblas_get_parallel();

namespace {

bool is_of_openblas(const void* code) {
  Dl_info caller, blas;
  return ::dladdr(code, &caller) &&
         ::dladdr(reinterpret_cast<void*>(openblas_get_parallel), &blas) &&
         caller.dli_fbase == blas.dli_fbase;
}

// Before main, or in a thread in the midst of a product: nothing can be unwound or flushed.
[[noreturn]] void end_program(std::size_t bytes) {
  static std::atomic<bool> said = false;
  while (said.exchange(true)) ::pause();  // another thread ends it
  char line[256];
  int length =
      std::snprintf(line, sizeof line,
                    "glim: error: out of memory: OpenBLAS was refused a buffer of %zu MiB, "
                    "and needs two per thread; raise the limit (ulimit -v or -d) or lower "
                    "OMP_NUM_THREADS\n",
                    bytes >> 20);
  (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  ::_exit(1);
}

}  // namespace

// Under a name of its own here: <sys/mman.h> gives `mmap` to mmap64 where files may be large.
extern "C" void* mmap_for_libraries(void* address, std::size_t bytes, int protection, int flags,
                                    int file, long offset) __asm__("mmap");
extern "C" void* mmap_for_libraries(void* address, std::size_t bytes, int protection, int flags,
                                    int file, long offset) {
  void* memory = ::mmap64(address, bytes, protection, flags, file, offset);
  if (memory == MAP_FAILED && is_of_openblas(__builtin_return_address(0))) end_program(bytes);
  return memory;
}
