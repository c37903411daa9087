#include <cstdint>
#include <malloc.h>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include "tensor/system/memory.hpp"

namespace glim {

void* allocate_aligned(std::size_t bytes) { return ::_aligned_malloc(bytes, 64); }
void free_aligned(void* block) { ::_aligned_free(block); }

// Windows gives no part of a mapping back: a larger one says where an aligned one fits.
std::byte* map_pages(std::size_t bytes, std::size_t alignment) {
  if (bytes + alignment < bytes) return nullptr;
  for (int attempt = 0; attempt < 8;
       ++attempt) {  // another thread may take the addresses meanwhile
    void* larger = ::VirtualAlloc(nullptr, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (!larger) return nullptr;
    ::VirtualFree(larger, 0, MEM_RELEASE);
    const std::uintptr_t first =
        (reinterpret_cast<std::uintptr_t>(larger) + alignment - 1) / alignment * alignment;
    void* begin = ::VirtualAlloc(reinterpret_cast<void*>(first), bytes, MEM_RESERVE | MEM_COMMIT,
                                 PAGE_READWRITE);
    if (begin) return static_cast<std::byte*>(begin);
    if (::GetLastError() == ERROR_NOT_ENOUGH_MEMORY || ::GetLastError() == ERROR_COMMITMENT_LIMIT)
      return nullptr;
  }
  return nullptr;
}
void unmap_pages(std::byte* begin, std::size_t) { ::VirtualFree(begin, 0, MEM_RELEASE); }
void release_pages(std::byte* begin, std::size_t bytes) {
  ::VirtualAlloc(begin, bytes, MEM_RESET, PAGE_READWRITE);
}

}  // namespace glim
