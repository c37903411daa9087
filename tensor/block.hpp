// The blocks of memory that storages share, and where they come from: tensor/fast/allocator.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tensor/storage.hpp"

namespace glim {

struct alignas(64) Storage::Block {
  static constexpr int kPiece = -1, kForeign = -2;
  std::uint64_t version;  // the allocation's, then the write's; first, for Storage::version
  std::atomic<long> refs;
  std::size_t bytes;     // asked for
  std::size_t capacity;  // the size class's or piece's
  int size_class;        // kPiece for a piece of the arena, kForeign for memory of somebody else
  int written_line;
  std::atomic<int> lent;  // how many others may write to it now
  std::byte* data;
  union {
    Block* next;               // in a list of unused ones
    const char* written_file;  // the last write's, if there was one
  };
};
static_assert(sizeof(Storage::Block) == 64 && offsetof(Storage::Block, version) == 0);

// A version is the number of the allocation, shifted by kWriteBits, plus the number of writes. A block with more writes
// than that has room for takes versions of later allocations.
inline constexpr int kWriteBits = 24;

Storage::Block* take_block(std::size_t bytes);  // MemoryError where the system refuses
void give_block(Storage::Block* block);

}  // namespace glim
