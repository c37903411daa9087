#include "tensor/fast/arena.hpp"

#include <algorithm>
#include <utility>

#include "tensor/system/memory.hpp"

namespace glim {

struct Arena::Segment {
  bool large;  // for large pieces
  std::byte* begin = nullptr;
  std::size_t size = 0, top = 0;  // memory above `top` was never used
  Piece *first = nullptr, *last = nullptr;
};

struct Arena::Piece : Storage::Block {
  Segment* segment;
  Piece *before, *after;  // neighbours in the segment
  bool free = false;
  std::size_t resident = 0;    // bytes counted in free_bytes_: their pages are there
  FreePieces::iterator place;  // when free
};

namespace {
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kLargePiece = std::size_t{8} << 20;
constexpr std::size_t kSegment = std::size_t{256} << 20;
std::size_t rounded(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }
}  // namespace

Arena::Arena() = default;

Arena::~Arena() {
  for (auto& s : segments_) {
    for (Piece* p = s->first; p;) delete std::exchange(p, p->after);
    unmap_pages(s->begin, s->size);
  }
}

Arena::Piece* Arena::new_piece(Segment& s, std::byte* data, std::size_t size, Piece* before,
                               Piece* after) {
  auto* piece = new Piece{{}, &s, before, after, false, 0, {}};
  piece->size_class = Storage::Block::kPiece;
  piece->data = data;
  piece->capacity = size;
  return piece;
}

void Arena::set_free(Piece* p, std::size_t resident) {
  p->free = true;
  p->resident = resident;
  p->place = free_[p->segment->large].emplace(p->capacity, p);
  free_bytes_ += static_cast<std::int64_t>(resident);
}

std::size_t Arena::set_used(Piece* p) {
  p->free = false;
  free_[p->segment->large].erase(p->place);
  free_bytes_ -= static_cast<std::int64_t>(p->resident);
  return std::exchange(p->resident, 0);
}

// p and the piece after it become one; neither is in free_.
void Arena::join_with_next(Piece* p) {
  Piece* next = p->after;
  p->capacity += next->capacity;
  p->after = next->after;
  (next->after ? next->after->before : p->segment->last) = p;
  delete next;
}

Arena::Piece* Arena::from_free(bool large, std::size_t bytes) {
  auto entry = free_[large].lower_bound(bytes);
  if (entry == free_[large].end()) return nullptr;
  Piece* p = entry->second;
  // The rest stays free; a sliver of less than a sixteenth is not worth a piece.
  Piece* rest = nullptr;
  if (p->capacity - bytes >= std::max(kPage, bytes / 16))
    rest = new_piece(*p->segment, p->data + bytes, p->capacity - bytes, p, p->after);
  std::size_t resident = set_used(p);
  if (rest) {
    (p->after ? p->after->before : p->segment->last) = rest;
    p->after = rest;
    p->capacity = bytes;
    set_free(rest, resident > bytes ? resident - bytes : 0);  // pages are used from the front
  }
  return p;
}

// New memory behind the last piece, which is taken along when it is free.
Arena::Piece* Arena::from_top(Segment& s, std::size_t bytes) {
  Piece* last = s.last;
  std::size_t have = last && last->free ? last->capacity : 0;
  std::size_t growth = bytes - have;  // a free piece of `bytes` would have been found
  if (s.size - s.top < growth) return nullptr;
  if (have > 0) {
    set_used(last);
    last->capacity = bytes;
  } else {
    last = new_piece(s, s.begin + s.top, bytes, s.last, nullptr);
    (s.last ? s.last->after : s.first) = last;
    s.last = last;
  }
  s.top += growth;
  return last;
}

bool Arena::add_segment(bool large, std::size_t bytes) {
  auto segment = std::make_unique<Segment>();
  for (std::size_t size : {std::max(kSegment, rounded(bytes, kHuge)), rounded(bytes, kHuge)}) {
    std::byte* begin = map_pages(size, kHuge);
    if (!begin) continue;
    ++system_calls_;
    *segment = {large, begin, size, 0, nullptr, nullptr};
    segments_.push_back(std::move(segment));
    return true;
  }
  return false;
}

Storage::Block* Arena::take(std::size_t bytes) {
  if (bytes > SIZE_MAX / 4) return nullptr;
  bytes = rounded(std::max<std::size_t>(bytes, 1), kPage);
  bool large = bytes >= kLargePiece;
  if (Piece* p = from_free(large, bytes)) return p;
  if (large)
    if (Piece* p = from_free(false, bytes)) return p;
  auto from_tops = [&](bool of_large) -> Piece* {
    for (auto& s : segments_)
      if (s->large == of_large)
        if (Piece* p = from_top(*s, bytes)) return p;
    return nullptr;
  };
  if (Piece* p = from_tops(large)) return p;
  if (add_segment(large, bytes)) return from_top(*segments_.back(), bytes);
  // The system refuses: the other segments' places, then.
  if (Piece* p = from_free(!large, bytes)) return p;
  return from_tops(!large);
}

void Arena::give(Storage::Block* piece) {
  auto* p = static_cast<Piece*>(piece);
  std::size_t resident = p->capacity;
  if (p->after && p->after->free) {
    resident += set_used(p->after);
    join_with_next(p);
  }
  if (p->before && p->before->free) {
    p = p->before;
    resident += set_used(p);
    join_with_next(p);
  }
  set_free(p, resident);
}

void Arena::trim() {
  std::erase_if(segments_, [&](const std::unique_ptr<Segment>& s) {
    bool all_free = s->first == s->last && (!s->first || s->first->free);
    if (!all_free) return false;
    if (s->first) set_used(s->first);
    delete s->first;
    unmap_pages(s->begin, s->size);
    return true;
  });
  for (auto& list : free_)
    for (auto& [size, p] : list) {
      release_pages(p->data, p->capacity);
      free_bytes_ -= static_cast<std::int64_t>(std::exchange(p->resident, 0));
    }
}

}  // namespace glim
