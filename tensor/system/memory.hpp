// Memory of the system: blocks, and whole pages.
#pragma once

#include <cstddef>

namespace glim {

// At least so many bytes from a multiple of 64 on, or null.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* block);

// Pages of zeros from a multiple of `alignment`, a power of two, on; null where the system refuses. Large pages, where
// the system has them.
std::byte* map_pages(std::size_t bytes, std::size_t alignment);
void unmap_pages(std::byte* begin, std::size_t bytes);  // all of a mapping
// True if the process may map so many bytes more, whether or not there is memory for them.
bool has_addresses(std::size_t bytes);
// Gives their memory back and keeps the addresses: what they hold afterwards is undefined.
void release_pages(std::byte* begin, std::size_t bytes);

}  // namespace glim
