#include "tensor/storage.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "tensor/error.hpp"

namespace glim {

// The header sits in front of the payload; 64 bytes keep the payload aligned.
struct alignas(64) Storage::Block {
  std::atomic<long> refs;
  std::size_t bytes;     // asked for
  std::size_t capacity;  // of the size class
  int size_class;
};
static_assert(sizeof(Storage::Block) == 64);

namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;

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

class Cache {
 public:
  static Cache& get() {
    static Cache* cache = new Cache;  // never destroyed: tensors may outlive static destructors
    return *cache;
  }

  Storage::Block* take(std::size_t bytes) {
    int c = class_of(bytes);
    std::size_t capacity = capacity_of(c);
    std::lock_guard lock(mutex_);
    ++stats_.allocations;
    Storage::Block* block;
    auto& list = free_[static_cast<std::size_t>(c)];
    if (!list.empty()) {
      block = list.back();
      list.pop_back();
      stats_.cached_bytes -= static_cast<std::int64_t>(capacity);
    } else {
      block = from_system(capacity, bytes);
      block->capacity = capacity;
      block->size_class = c;
    }
    block->bytes = bytes;
    stats_.live_bytes += static_cast<std::int64_t>(capacity);
    if (stats_.live_bytes > stats_.peak_bytes) stats_.peak_bytes = stats_.live_bytes;
    return block;
  }

  void give(Storage::Block* block) {
    std::lock_guard lock(mutex_);
    auto capacity = static_cast<std::int64_t>(block->capacity);
    stats_.live_bytes -= capacity;
    stats_.cached_bytes += capacity;
    free_[static_cast<std::size_t>(block->size_class)].push_back(block);
  }

  void trim() {
    std::lock_guard lock(mutex_);
    trim_locked();
  }
  AllocatorStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak_bytes = stats_.live_bytes;
  }

 private:
  void trim_locked() {
    for (auto& list : free_) {
      for (Storage::Block* b : list) {
        stats_.cached_bytes -= static_cast<std::int64_t>(b->capacity);
        std::free(b);
      }
      list.clear();
    }
  }

  Storage::Block* from_system(std::size_t capacity, std::size_t asked) {
    std::size_t total = capacity + sizeof(Storage::Block);
    std::size_t align = total >= kHuge ? kHuge : 64;
    total = (total + align - 1) / align * align;
    ++stats_.system_calls;
    void* p = std::aligned_alloc(align, total);
    if (!p) {
      trim_locked();
      p = std::aligned_alloc(align, total);
    }
    if (!p)
      throw MemoryError("storage", "the system refused " + std::to_string(asked) + " bytes (" +
                                       std::to_string(stats_.live_bytes) + " are in use)");
    if (align == kHuge) madvise(p, total, MADV_HUGEPAGE);
    return new (p) Storage::Block{};
  }

  std::mutex mutex_;
  std::array<std::vector<Storage::Block*>, 128> free_;
  AllocatorStats stats_;
};

}  // namespace

AllocatorStats allocator_stats() { return Cache::get().stats(); }
void reset_peak() { Cache::get().reset_peak(); }
void release_cache() { Cache::get().trim(); }

Storage::Storage(std::size_t bytes) : block_(Cache::get().take(bytes)) {
  block_->refs.store(1, std::memory_order_relaxed);
}

std::byte* Storage::data() const { return reinterpret_cast<std::byte*>(block_ + 1); }
std::size_t Storage::bytes() const { return block_->bytes; }
long Storage::use_count() const {
  return block_ ? block_->refs.load(std::memory_order_relaxed) : 0;
}

void Storage::retain() {
  if (block_) block_->refs.fetch_add(1, std::memory_order_relaxed);
}

void Storage::release() {
  if (block_ && block_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    Cache::get().give(block_);
}

}  // namespace glim
