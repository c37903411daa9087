// The arena alone, without the tensors that live in it: which memory a block gets, and that no two
// blocks share any.
#include "tensor/fast/arena.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "tensor/system/memory.hpp"
#include "tests/catch.hpp"

using namespace glim;

namespace {

constexpr std::size_t kKilo = 1024, kMega = kKilo * kKilo;

std::byte* at(const Storage::Block* p) { return p->data; }

// Taken and given at random. With `large`, of both kinds.
void check_random_pieces(bool large) {
  struct Held {
    Storage::Block* piece;
    std::size_t asked;
    std::byte mark;
  };
  Arena arena;
  std::mt19937_64 draw(3);
  std::vector<Held> held;
  std::size_t live = 0;
  auto intact = [](const Held& h) {
    std::byte* p = at(h.piece);
    return p[0] == h.mark && p[h.asked / 2] == h.mark && p[h.asked - 1] == h.mark;
  };
  bool good = true;
  std::int64_t calls_when_warm = 0;
  for (int round = 0; round < 20000; ++round) {
    if (round == 10000) calls_when_warm = arena.system_calls();
    bool take = held.empty() || (live < 100 * kMega && draw() % 2 == 0);
    if (take) {
      // Sizes from a page to 4 MB, or 16, small ones more often.
      std::size_t asked = 1 + draw() % (std::size_t{4 * kKilo} << draw() % (large ? 13 : 11));
      Held h{arena.take(asked), asked, static_cast<std::byte>(draw())};
      REQUIRE(h.piece);
      good = good && h.piece->capacity >= asked &&
             reinterpret_cast<std::uintptr_t>(at(h.piece)) % 64 == 0;
      for (std::size_t i : {std::size_t{0}, asked / 2, asked - 1}) at(h.piece)[i] = h.mark;
      live += asked;
      held.push_back(h);
    } else {
      std::size_t i = draw() % held.size();
      good = good && intact(held[i]);
      live -= held[i].asked;
      arena.give(held[i].piece);
      held[i] = held.back();
      held.pop_back();
    }
    if (round % 500 == 0) {
      std::sort(held.begin(), held.end(),
                [](const Held& a, const Held& b) { return at(a.piece) < at(b.piece); });
      for (std::size_t i = 0; i + 1 < held.size(); ++i)
        good = good && at(held[i].piece) + held[i].piece->capacity <= at(held[i + 1].piece);
      for (const Held& h : held) good = good && intact(h);
    }
  }
  CHECK(good);
  CHECK(arena.system_calls() == calls_when_warm);  // one segment of each kind is enough
  for (const Held& h : held) arena.give(h.piece);
  if (large) {
    CHECK(calls_when_warm == 2);
    return;
  }
  auto free = static_cast<std::size_t>(arena.free_bytes());
  Storage::Block* whole = arena.take(free);
  CHECK(arena.free_bytes() == 0);
  CHECK(arena.system_calls() == calls_when_warm);
  arena.give(whole);
}

}  // namespace

TEST_CASE("a piece is cut from a larger free one, and the rest stays free", "[arena]") {
  Arena arena;
  Storage::Block *a = arena.take(4 * kMega), *guard = arena.take(kMega);
  std::byte* begin = at(a);
  auto calls = arena.system_calls();
  CHECK(arena.free_bytes() == 0);
  arena.give(a);
  CHECK(arena.free_bytes() == 4 * kMega);
  Storage::Block *first = arena.take(kMega), *second = arena.take(2 * kMega);
  CHECK(at(first) == begin);
  CHECK(at(second) == begin + kMega);
  CHECK(first->capacity == kMega);
  CHECK(arena.free_bytes() == kMega);
  CHECK(arena.system_calls() == calls);
  for (Storage::Block* p : {first, second, guard}) arena.give(p);
}

TEST_CASE("what would be left over stays with the piece when it is a sliver", "[arena]") {
  Arena arena;
  Storage::Block *a = arena.take(64 * 4 * kKilo), *guard = arena.take(kMega);
  arena.give(a);
  a = arena.take(62 * 4 * kKilo);  // two pages of 62 are less than a sixteenth
  CHECK(a->capacity == 64 * 4 * kKilo);
  CHECK(arena.free_bytes() == 0);
  arena.give(a);
  a = arena.take(56 * 4 * kKilo);  // eight of 56 are more
  CHECK(a->capacity == 56 * 4 * kKilo);
  CHECK(arena.free_bytes() == 8 * 4 * kKilo);
  for (Storage::Block* p : {a, guard}) arena.give(p);
}

TEST_CASE("free neighbours become one, in whatever order they were given", "[arena]") {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  do {
    Arena arena;
    std::array<Storage::Block*, 4> p;
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = arena.take((i + 1) * kMega);
    Storage::Block* guard = arena.take(kMega);
    std::byte* begin = at(p[0]);
    auto calls = arena.system_calls();
    for (std::size_t i : order) arena.give(p[i]);
    CHECK(arena.free_bytes() == 10 * kMega);
    Storage::Block* whole = arena.take(10 * kMega);  // larger than any of them
    CHECK(at(whole) == begin);
    CHECK(arena.free_bytes() == 0);
    CHECK(arena.system_calls() == calls);
    CHECK(at(guard) == begin + 10 * kMega);
    for (Storage::Block* q : {whole, guard}) arena.give(q);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the smallest free piece that suffices is taken, of equal ones the oldest", "[arena]") {
  Arena arena;
  std::vector<Storage::Block*> holes, guards;
  for (std::size_t megabytes : {3, 2, 5, 2, 1}) {
    holes.push_back(arena.take(megabytes * kMega));
    guards.push_back(arena.take(kMega));
  }
  std::vector<std::byte*> begin;
  for (Storage::Block* p : holes) begin.push_back(at(p));
  for (std::size_t i : {3, 0, 4, 1, 2}) arena.give(holes[i]);
  std::vector<Storage::Block*> taken;
  for (std::size_t expected : {3, 1, 0, 2}) {  // the two of 2 MB, then 3, then 5
    taken.push_back(arena.take(2 * kMega));
    CHECK(at(taken.back()) == begin[expected]);
  }
  for (const auto& list : {taken, guards})
    for (Storage::Block* p : list) arena.give(p);
}

TEST_CASE("no smaller piece settles where a large one was", "[arena]") {
  Arena arena;
  Storage::Block *large = arena.take(8 * kMega), *guard = arena.take(9 * kMega);
  std::byte* begin = at(large);
  arena.give(large);
  Storage::Block* small = arena.take(8 * kMega - 4 * kKilo);  // a page less
  CHECK((at(small) < begin || at(small) >= begin + 17 * kMega));
  CHECK(arena.free_bytes() == 8 * kMega);
  large = arena.take(8 * kMega);
  CHECK(at(large) == begin);
  for (Storage::Block* p : {large, guard, small}) arena.give(p);
}

TEST_CASE("a large piece takes the place of smaller ones that were given", "[arena]") {
  Arena arena;
  Storage::Block *a = arena.take(6 * kMega), *b = arena.take(5 * kMega), *guard = arena.take(kMega);
  std::byte* begin = at(a);
  auto calls = arena.system_calls();
  arena.give(a);
  arena.give(b);
  Storage::Block* large = arena.take(9 * kMega);
  CHECK(at(large) == begin);
  CHECK(arena.free_bytes() == 2 * kMega);
  CHECK(arena.system_calls() == calls);
  for (Storage::Block* p : {large, guard}) arena.give(p);
}

#if !defined(__SANITIZE_ADDRESS__)  // which asks the system for memory of its own
TEST_CASE("a piece takes any place when the system gives no more", "[arena]") {
  for (bool large : {false, true}) {
    Arena arena;
    Storage::Block* first = arena.take(large ? 8 * kMega : kMega);
    std::byte* end = at(first) + first->capacity;
    rlimit before;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    rlimit none{1, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &none) == 0);
    Storage::Block* other = arena.take(large ? kMega : 9 * kMega);
    Storage::Block* too_large = arena.take(1024 * kMega);
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    REQUIRE(other);
    CHECK(at(other) == end);
    CHECK(too_large == nullptr);
    arena.give(first);
    arena.give(other);
    CHECK(arena.free_bytes() == static_cast<std::int64_t>(large ? 9 * kMega : 10 * kMega));
  }
}
#endif

namespace test_arena {

TEST_CASE("a free piece at the end grows into memory that was never used", "[arena]") {
  Arena arena;
  Storage::Block* a = arena.take(kMega);
  std::byte* begin = at(a);
  auto calls = arena.system_calls();
  arena.give(a);
  a = arena.take(7 * kMega);
  CHECK(at(a) == begin);
  CHECK(arena.free_bytes() == 0);
  CHECK(arena.system_calls() == calls);
  arena.give(a);
}

TEST_CASE("trimming keeps what is used and forgets what is free", "[arena]") {
  Arena arena;
  Storage::Block *a = arena.take(kMega), *used = arena.take(kMega), *b = arena.take(kMega);
  for (Storage::Block* p : {a, used, b}) std::memset(at(p), 7, kMega);
  arena.give(a);
  arena.give(b);
  arena.trim();
  CHECK(arena.free_bytes() == 0);
  CHECK(std::all_of(at(used), at(used) + kMega, [](std::byte v) { return v == std::byte{7}; }));
  a = arena.take(kMega);  // it is there again, as zeros from the system
  CHECK(std::all_of(at(a), at(a) + kMega, [](std::byte v) { return v == std::byte{0}; }));
  arena.give(a);
  CHECK(arena.free_bytes() >= static_cast<std::int64_t>(kMega));
  arena.give(used);
  auto calls = arena.system_calls();
  arena.trim();  // nothing is used: the segment goes
  CHECK(arena.free_bytes() == 0);
  Storage::Block* again = arena.take(kMega);
  CHECK(arena.system_calls() > calls);
  arena.give(again);
}

// The arena cuts its segments into units of 4 KB, which are less than a page on some machines.
TEST_CASE("memory that goes back to the system ends with its last whole page", "[arena]") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::byte* pages = map_pages(4 * page, page);
  REQUIRE(pages);
  std::memset(pages, 7, 4 * page);
  release_pages(pages, page + 1);
  release_pages(pages + 2 * page - 1, page + 2);
  for (const std::size_t kept : {page, 2 * page - 1, 3 * page, 4 * page - 1})
    CHECK(pages[kept] == std::byte{7});
  unmap_pages(pages, 4 * page);
}

TEST_CASE("what no system can give is refused", "[arena]") {
  Arena arena;
  CHECK(arena.take(SIZE_MAX) == nullptr);
  CHECK(arena.take(SIZE_MAX / 8) == nullptr);
  Storage::Block* a = arena.take(0);
  REQUIRE(a);
  CHECK(a->capacity >= 1);
  arena.give(a);
}

TEST_CASE("pieces never overlap, and all of them join in the end", "[arena]") {
  check_random_pieces(false);
  check_random_pieces(true);
}

TEST_CASE("pages that went back to the system count for nothing until they are used again",
          "[arena]") {
  Arena arena;
  Storage::Block *a = arena.take(7 * kMega), *guard = arena.take(kMega);
  arena.give(a);
  arena.trim();
  CHECK(arena.free_bytes() == 0);
  Storage::Block *first = arena.take(kMega), *second = arena.take(2 * kMega);
  CHECK(arena.free_bytes() == 0);  // the other 4 MB are not there
  arena.give(second);
  CHECK(arena.free_bytes() == 2 * kMega);
  second = arena.take(kMega);
  CHECK(arena.free_bytes() == kMega);
  arena.give(first);
  CHECK(arena.free_bytes() == 2 * kMega);
  for (Storage::Block* p : {second, guard}) arena.give(p);
  CHECK(arena.free_bytes() == 4 * kMega);
}

}  // namespace test_arena
