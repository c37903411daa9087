#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/system/memory.hpp"
#include "tensor/system/posix.hpp"

namespace glim {

// aligned_alloc takes multiples of the alignment.
void* allocate_aligned(std::size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
void free_aligned(void* block) { std::free(block); }

// Aligned by asking for more and giving the ends back.
std::byte* map_pages(std::size_t bytes, std::size_t alignment) {
  const std::size_t length = bytes + alignment;
  if (length < bytes) return nullptr;
  void* p = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(p);
  const std::size_t head =
      (alignment - reinterpret_cast<std::uintptr_t>(p) % alignment) % alignment;
  if (head > 0) ::munmap(begin, head);
  if (alignment > head) ::munmap(begin + head + bytes, alignment - head);
#ifdef MADV_HUGEPAGE
  ::madvise(begin + head, bytes, MADV_HUGEPAGE);
#endif
  return begin + head;
}
bool has_addresses(std::size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  ::munmap(p, bytes);
  return true;
}
void unmap_pages(std::byte* begin, std::size_t bytes) { ::munmap(begin, bytes); }
// Releases whole pages only. The system rounds a length up to its pages, which have 16 or 64 KB on some machines.
void release_pages(std::byte* begin, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (start + page - 1) / page * page,
                       end = (start + bytes) / page * page;
  if (first < end) ::madvise(begin + (first - start), end - first, unused_pages());
}

}  // namespace glim
