#include "tests/fuzz/readers/memory.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <algorithm>
#include <atomic>

// Declarations of sanitizer/allocator_interface.h, which g++ does not bring.
extern "C" {
std::size_t __sanitizer_get_allocated_size(const volatile void* block);
int __sanitizer_install_malloc_and_free_hooks(void (*given)(const volatile void*, std::size_t),
                                              void (*returned)(const volatile void*));
}

namespace glim::fuzz {
namespace {

std::atomic<std::ptrdiff_t> in_use{0}, most{0};

void given(const volatile void*, std::size_t bytes) {
  const std::ptrdiff_t now =
      in_use.fetch_add(static_cast<std::ptrdiff_t>(bytes)) + static_cast<std::ptrdiff_t>(bytes);
  if (now > most.load(std::memory_order_relaxed)) most.store(now, std::memory_order_relaxed);
}
void returned(const volatile void* block) {
  in_use.fetch_sub(static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(block)));
}

}  // namespace

HighWater::HighWater() {
  [[maybe_unused]] static const int hooks =
      __sanitizer_install_malloc_and_free_hooks(given, returned);
  in_use = 0;
  most = 0;
}
std::size_t HighWater::bytes() const {
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(most, 0));
}

}  // namespace glim::fuzz
#else
namespace glim::fuzz {
HighWater::HighWater() = default;
std::size_t HighWater::bytes() const { return 0; }
}  // namespace glim::fuzz
#endif
