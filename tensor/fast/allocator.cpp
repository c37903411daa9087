// Blocks of memory from a cache. A small block's payload follows its header, which keeps it aligned; a large one's is in
// the arena.
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "tensor/block.hpp"
#include "tensor/error.hpp"
#include "tensor/fast/arena.hpp"
#include "tensor/system/memory.hpp"
#include "tensor/system/threads.hpp"

namespace glim {
namespace {

// Blocks from here on come from the arena. Under AddressSanitizer none does: it guards the ends of
// what the system's allocator gave.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kLarge = SIZE_MAX;
#else
constexpr std::size_t kLarge = std::size_t{256} << 10;
#endif

// Class 2k holds 64·2^k bytes, class 2k+1 holds 96·2^k.
int class_of(std::size_t bytes) {
  if (bytes <= 64) return 0;
  int k = std::bit_width((bytes - 1) >> 6) - 1;  // 64·2^k < bytes <= 64·2^(k+1)
  std::size_t low = std::size_t{64} << k;
  return bytes <= low + low / 2 ? 2 * k + 1 : 2 * k + 2;
}
std::size_t capacity_of(int size_class) {
  std::size_t base = std::size_t{64} << (size_class / 2);
  return size_class % 2 ? base + base / 2 : base;
}

// A lock that a process with one thread does without: it takes as long as the rest of an allocation.
class Lock {
 public:
  explicit Lock(std::mutex& mutex) : held_(single_threaded() ? nullptr : &mutex) {
    if (held_) held_->lock();
  }
  ~Lock() {
    if (held_) held_->unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::mutex* held_;
};

// A stack of blocks, linked through the blocks.
class BlockList {
 public:
  bool empty() const { return !first_; }
  void push(Storage::Block* block) { block->next = std::exchange(first_, block); }
  Storage::Block* pop() { return std::exchange(first_, first_->next); }

 private:
  Storage::Block* first_ = nullptr;
};

class Cache {
 public:
  static Cache& get() {
    static Cache* cache = [] {
      auto* made = new Cache;  // never destroyed: tensors may outlive static destructors
      hold_across_fork(made->mutex_);
      return made;
    }();
    return *cache;
  }

  Storage::Block* take(std::size_t bytes) {
    Lock lock(mutex_);
    ++allocations_;
    auto from_cache = [&] { return bytes >= kLarge ? arena_.take(bytes) : take_small(bytes); };
    Storage::Block* block = from_cache();
    if (!block) {
      trim_locked();
      block = from_cache();
    }
    if (!block)
      throw MemoryError("storage", "the system refused " + std::to_string(bytes) + " bytes (" +
                                       std::to_string(allocated_) + " are in use)");
    block->bytes = bytes;
    block->version = static_cast<std::uint64_t>(allocations_) << kWriteBits;
    allocated_ += static_cast<std::int64_t>(block->capacity);
    if (allocated_ > peak_) peak_ = allocated_;
    return block;
  }

  void give(Storage::Block* block) {
    Lock lock(mutex_);
    allocated_ -= static_cast<std::int64_t>(block->capacity);
    if (block->size_class == Storage::Block::kPiece) {
      arena_.give(block);
    } else {
      small_cached_ += static_cast<std::int64_t>(block->capacity);
      free_[block->size_class].push(block);
    }
  }

  void trim() {
    std::lock_guard lock(mutex_);
    trim_locked();
  }
  AllocatorStats stats() {
    std::lock_guard lock(mutex_);
    return {allocated_, peak_, small_cached_ + arena_.free_bytes(),
            small_calls_ + arena_.system_calls(), allocations_};
  }
  void reset_peak() {
    std::lock_guard lock(mutex_);
    peak_ = allocated_;
  }

 private:
  void trim_locked() {
    for (auto& list : free_)
      while (!list.empty()) free_aligned(list.pop());
    small_cached_ = 0;
    arena_.trim();
  }

  // Null when the system refuses.
  Storage::Block* take_small(std::size_t bytes) {
    int c = class_of(bytes);
    auto& list = free_[c];
    if (!list.empty()) {
      Storage::Block* block = list.pop();
      small_cached_ -= static_cast<std::int64_t>(block->capacity);
      return block;
    }
    std::size_t capacity = capacity_of(c);
    ++small_calls_;
    void* p = allocate_aligned(capacity + sizeof(Storage::Block));
    if (!p) return nullptr;
    auto* block = new (p) Storage::Block{};
    block->capacity = capacity;
    block->size_class = c;
    block->data = reinterpret_cast<std::byte*>(block + 1);
    return block;
  }

  std::mutex mutex_;
  std::array<BlockList, 128> free_;
  Arena arena_;
  std::int64_t allocated_ = 0, peak_ = 0, small_cached_ = 0, small_calls_ = 0, allocations_ = 0;
};

}  // namespace

AllocatorStats allocator_stats() { return Cache::get().stats(); }
void reset_peak() { Cache::get().reset_peak(); }
void release_cache() { Cache::get().trim(); }
Storage::Block* take_block(std::size_t bytes) { return Cache::get().take(bytes); }
void give_block(Storage::Block* block) { Cache::get().give(block); }

}  // namespace glim
