#include "tensor/storage.hpp"

#include "tensor/block.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/system/threads.hpp"

namespace glim {
namespace {
struct Foreign : Storage::Block {
  std::shared_ptr<void> owner;
  bool read_only = false;
};
}  // namespace

Storage Storage::over(void* data, std::size_t bytes, std::shared_ptr<void> owner, bool read_only) {
  // Numbers of allocations that the allocator never reaches.
  static std::atomic<std::uint64_t> next{std::uint64_t{1} << 39};
  auto* block = new Foreign;
  block->version = next++ << kWriteBits;
  block->refs.store(1, std::memory_order_relaxed);
  block->bytes = block->capacity = bytes;
  block->size_class = Block::kForeign;
  block->data = static_cast<std::byte*>(data);
  block->owner = std::move(owner);
  block->read_only = read_only;
  Storage storage;
  storage.block_ = block;
  return storage;
}

Storage::Storage(std::size_t bytes) {
  Interruptible::check();
  MemoryLimit::take(bytes);
  block_ = take_block(bytes);
  block_->refs.store(1, std::memory_order_relaxed);
}

std::byte* Storage::data() const { return block_ ? block_->data : nullptr; }
std::size_t Storage::bytes() const { return block_ ? block_->bytes : 0; }
void Storage::written(const Where& where) const {
  if (!block_) return;
  ++block_->version;
  block_->written_file = where.file_name();
  block_->written_line = where.line();
}
Where Storage::written_since(std::uint64_t version) const {
  const bool same_block = block_ && block_->version >> kWriteBits == version >> kWriteBits;
  return same_block && block_->version != version
             ? Where::current(block_->written_file, block_->written_line)
             : Where();
}
bool Storage::read_only() const {
  return block_ && block_->size_class == Block::kForeign &&
         static_cast<Foreign*>(block_)->read_only;
}
long Storage::use_count() const {
  return block_ ? block_->refs.load(std::memory_order_relaxed) : 0;
}
bool Storage::exclusive() const {
  return use_count() == 1 && block_->size_class != Block::kForeign;
}
bool Storage::shared() const {
  return block_ && (block_->size_class == Block::kForeign ||
                    block_->lent.load(std::memory_order_relaxed) > 0);
}
void Storage::lend(int change) const {
  if (block_) block_->lent.fetch_add(change, std::memory_order_relaxed);
}

// While the process has one thread a count needs no locked instruction, which costs about as much
// as a copy of the tensor's handle itself.
void Storage::retain() {
  if (single_threaded())
    block_->refs.store(block_->refs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  else
    block_->refs.fetch_add(1, std::memory_order_relaxed);
}

void Storage::release() {
  long before = block_->refs.load(std::memory_order_relaxed);
  if (single_threaded())
    block_->refs.store(before - 1, std::memory_order_relaxed);
  else
    before = block_->refs.fetch_sub(1, std::memory_order_acq_rel);
  if (before != 1) return;
  if (block_->size_class == Block::kForeign)
    delete static_cast<Foreign*>(block_);
  else
    give_block(block_);
}

}  // namespace glim
