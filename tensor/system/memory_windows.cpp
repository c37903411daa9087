#include <cstdint>
#include <malloc.h>

#include "tensor/system/memory.hpp"
#include "tensor/system/windows.hpp"

namespace glim {

void* allocate_aligned(std::size_t bytes) { return _aligned_malloc(bytes, 64); }
void free_aligned(void* block) { _aligned_free(block); }

// Addresses cannot be given back in part: those of a larger reservation are freed and their aligned part mapped, unless
// another thread has taken them.
std::byte* map_pages(std::size_t bytes, std::size_t alignment) {
  if (bytes + alignment < bytes) return nullptr;
  for (int trial = 0; trial < 100; ++trial) {
    void* room = VirtualAlloc(nullptr, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (!room) return nullptr;
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(room) + alignment - 1) / alignment * alignment;
    VirtualFree(room, 0, MEM_RELEASE);
    if (void* pages = VirtualAlloc(reinterpret_cast<void*>(begin), bytes, MEM_RESERVE | MEM_COMMIT,
                                   PAGE_READWRITE))
      return static_cast<std::byte*>(pages);
    if (GetLastError() != ERROR_INVALID_ADDRESS) return nullptr;
  }
  return nullptr;
}
bool has_addresses(std::size_t bytes) {
  void* room = VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
  return room && VirtualFree(room, 0, MEM_RELEASE);
}
void unmap_pages(std::byte* begin, std::size_t) { VirtualFree(begin, 0, MEM_RELEASE); }
void release_pages(std::byte* begin, std::size_t bytes) {
  VirtualAlloc(begin, bytes, MEM_RESET, PAGE_READWRITE);
}

}  // namespace glim
