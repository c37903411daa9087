// Storage: a reference-counted, 64-byte aligned block of bytes from a caching allocator.
//
// A released block is kept and handed out again, so that a training step after the first asks the
// system for nothing: small ones by size class (powers of two and their 1.5 multiples, at most a
// third wasted), those of 256 KiB and more as pieces of an arena of huge pages (tensor/fast/arena.hpp).
// MemoryError when the system refuses, after the cache was given back.
//
// A block counts the writes to it, so that backward notices a saved value that has changed (autograd/op.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tensor/where.hpp"

namespace glim {

struct AllocatorStats {
  std::int64_t allocated_bytes = 0;  // handed out now
  std::int64_t peak_bytes = 0;       // the largest allocated_bytes since reset_peak
  std::int64_t cached_bytes = 0;     // kept for reuse
  std::int64_t system_calls = 0;     // allocations that went to the system
  std::int64_t allocations = 0;      // all allocations
};

AllocatorStats allocator_stats();
void reset_peak();     // peak_bytes = allocated_bytes
void release_cache();  // gives every cached block back to the system

class Storage {
 public:
  Storage() = default;
  explicit Storage(std::size_t bytes);  // uninitialised
  // Memory of somebody else, such as a NumPy array's. `owner` is kept until the last tensor over it is gone.
  static Storage over(void* data, std::size_t bytes, std::shared_ptr<void> owner, bool read_only);
  Storage(const Storage& o) : block_(o.block_) {
    if (block_) retain();
  }
  Storage(Storage&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  Storage& operator=(Storage o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~Storage() {
    if (block_) release();
  }

  std::byte* data() const;  // null where there is no block
  std::size_t bytes() const;
  explicit operator bool() const { return block_ != nullptr; }
  long use_count() const;
  bool exclusive() const;  // nobody else sees these bytes: one handle, memory of our own
  bool read_only() const;  // true for memory of somebody else that may not be written
  // True where others may write without written(): memory of somebody else, or lent out.
  bool shared() const;
  void lend(int change) const;  // 1 when somebody else may write from now on, -1 when that ends

  // Counts the writes in place: copy_, fill_ and the like, and steps of optimizers. Equal versions mean the same
  // block of memory and no such write in between. Writes through data() are not counted.
  std::uint64_t version() const {
    return block_ ? *reinterpret_cast<const std::uint64_t*>(block_) : 0;
  }
  void written(const Where& where) const;
  // The last such write of this block, if it was written since it had `version`.
  Where written_since(std::uint64_t version) const;
  friend bool operator==(const Storage& a, const Storage& b) { return a.block_ == b.block_; }

  struct Block;

 private:
  void retain();
  void release();
  Block* block_ = nullptr;
};

}  // namespace glim
