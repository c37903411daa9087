#include "tensor/parallel.hpp"

#include <atomic>

#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_parallel {

using namespace glim;

namespace {
struct Threads {  // sets the number of threads for a scope
  int before = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
};
}  // namespace

TEST_CASE("every index is visited once", "[parallel]") {
  for (int threads : {1, 2, 4}) {
    Threads scope(threads);
    for (Index n : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      parallel_each(n, [&](Index i) { ++seen[static_cast<std::size_t>(i)]; });
      for (auto& s : seen) CHECK(s == 1);
      for (Index grain : {Index{-1}, Index{1}, Index{3}, Index{2000}, INT64_MAX}) {
        std::atomic<Index> total{0}, pieces{0}, misplaced{0};  // assertions belong to one thread
        parallel_for(n, grain, [&](Index begin, Index end) {
          total += end - begin;
          ++pieces;
          misplaced += begin % std::max<Index>(grain, 1) != 0 || end > n;
        });
        CHECK(misplaced == 0);
        CHECK(total == n);
        if (grain > 0) CHECK(pieces == n / grain + (n % grain != 0));
      }
    }
  }
}

TEST_CASE("an exception leaves the loop, and the next loop works", "[parallel]") {
  for (int threads : {1, 3}) {
    Threads scope(threads);
    CHECK(error_of<ValueError>([] {
            parallel_each(100, [](Index i) {
              if (i == 37) throw ValueError("piece", "37");
            });
          }) == "piece: 37");
    std::atomic<int> count{0};
    parallel_each(100, [&](Index) { ++count; });
    CHECK(count == 100);
  }
}

TEST_CASE("nested loops run where they are met", "[parallel]") {
  Threads scope(3);
  std::atomic<int> count{0};
  CHECK_FALSE(in_parallel());
  parallel_each(4, [&](Index) { parallel_each(5, [&](Index) { ++count; }); });
  CHECK(count == 20);
  CHECK_FALSE(in_parallel());
}

TEST_CASE("the number of threads is at least one", "[parallel]") {
  CHECK(error_of<ValueError>([] { set_num_threads(0); }) ==
        "set_num_threads: need at least 1 thread, got 0");
  CHECK_THROWS_AS(set_num_threads(-3), ValueError);
  CHECK(error_of<ValueError>([] { set_num_threads(65); }) ==
        "set_num_threads: at most 64 threads, got 65");
  CHECK(num_threads() >= 1);
}

}  // namespace test_parallel
