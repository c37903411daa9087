// Large blocks: pieces of segments that the system gave, taken best-fit and joined again when they
// are free (Knuth, The Art of Computer Programming, vol. 1, section 2.5).
//
// Blocks of any size reuse the same memory, so the memory that a training step holds stays near
// the sum of what lives at its peak. Pieces of 8 MiB and more have segments of their own, where no
// smaller one settles in the middle of their place; they may be in the others' free places. Segments
// ask the kernel for huge pages; pages that were never used cost nothing. Not thread-safe: the caller
// holds a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tensor/block.hpp"

namespace glim {

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // A piece with a capacity of at least `bytes` bytes, aligned to 64; null when the system refuses.
  Storage::Block* take(std::size_t bytes);
  void give(Storage::Block* piece);
  // Gives segments without a used piece back to the system, and the pages of other free pieces.
  void trim();

  std::int64_t free_bytes() const { return free_bytes_; }  // used once and kept for reuse
  std::int64_t system_calls() const { return system_calls_; }

 private:
  struct Segment;
  struct Piece;
  using FreePieces = std::multimap<std::size_t, Piece*>;
  static Piece* new_piece(Segment& segment, std::byte* data, std::size_t size, Piece* before,
                          Piece* after);
  Piece* from_free(bool large, std::size_t bytes);
  Piece* from_top(Segment& segment, std::size_t bytes);
  void set_free(Piece* piece, std::size_t resident);
  std::size_t set_used(Piece* piece);  // returns how much of it was resident
  void join_with_next(Piece* piece);
  bool add_segment(bool large, std::size_t bytes);

  std::vector<std::unique_ptr<Segment>> segments_;
  // By size, of equal ones the oldest first: those in segments of small pieces, and of large ones.
  FreePieces free_[2];
  std::int64_t free_bytes_ = 0, system_calls_ = 0;
};

}  // namespace glim
