#include "tensor/storage.hpp"

#include <atomic>
#include <thread>

#include "tensor/interrupt.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

using namespace glim;

TEST_CASE("the second identical round asks the system for nothing", "[storage]") {
  auto round = [] {
    Tensor a = zeros({100, 333}), b = ones({3, 5}, DType::Int64);
    Tensor c = add(a, a), d = transpose(a).clone();
    std::vector<Tensor> kept;
    for (Index n = 1; n < 40; ++n) kept.push_back(zeros({n * 97}));
  };
  release_cache();
  round();
  AllocatorStats before = allocator_stats();
  round();
  AllocatorStats after = allocator_stats();
  CHECK(after.system_calls == before.system_calls);
  CHECK(after.allocations > before.allocations + 40);
  CHECK(after.allocated_bytes == before.allocated_bytes);
  CHECK(after.cached_bytes == before.cached_bytes);
}

TEST_CASE("a limit ends what would take more memory, and ends with its block", "[storage]") {
  {
    MemoryLimit limit(1 << 20);
    Tensor a = zeros({1 << 16});
    CHECK_THROWS_AS(zeros({1 << 18}), MemoryError);
    CHECK_NOTHROW(zeros({1 << 16}));
    MemoryLimit within(0);
    CHECK_THROWS_AS(zeros({1}), MemoryError);
  }
  CHECK_NOTHROW(zeros({1 << 18}));
}

TEST_CASE("allocated, peak and cached bytes add up", "[storage]") {
  release_cache();
  reset_peak();
  AllocatorStats start = allocator_stats();
  CHECK(start.peak_bytes == start.allocated_bytes);
  CHECK(start.cached_bytes == 0);
  {
    Storage a(1 << 16), b(1 << 16);
    Storage shared = a;
    CHECK(shared.use_count() == 2);
    CHECK(allocator_stats().allocated_bytes == start.allocated_bytes + (2 << 16));
  }
  AllocatorStats end = allocator_stats();
  CHECK(end.allocated_bytes == start.allocated_bytes);
  CHECK(end.peak_bytes == start.allocated_bytes + (2 << 16));
  CHECK(end.cached_bytes == 2 << 16);
  reset_peak();
  CHECK(allocator_stats().peak_bytes == start.allocated_bytes);
  release_cache();
  CHECK(allocator_stats().cached_bytes == 0);
}

TEST_CASE("blocks are aligned, large enough, and at most a third larger", "[storage]") {
  for (std::size_t n : {0, 1, 63, 64, 65, 96, 97, 128, 1000, 4097, 1 << 20, (1 << 21) + 1}) {
    std::int64_t before = allocator_stats().allocated_bytes;
    Storage s(n);
    auto used = allocator_stats().allocated_bytes - before;
    CHECK(reinterpret_cast<std::uintptr_t>(s.data()) % 64 == 0);
    CHECK(s.bytes() == n);
    CHECK(used >= static_cast<std::int64_t>(n));
    if (n > 64) CHECK(used * 2 <= static_cast<std::int64_t>(n) * 3);
    std::fill_n(s.data(), n, std::byte{1});
  }
}

TEST_CASE("handles count their references", "[storage]") {
  Storage none;
  CHECK_FALSE(none);
  CHECK(none.use_count() == 0);
  Storage a(8), b = a;
  CHECK(a == b);
  CHECK(a.use_count() == 2);
  Storage c = std::move(b);
  CHECK(a.use_count() == 2);
  c = Storage(8);
  CHECK(a.use_count() == 1);
  const Storage& same = a;
  a = same;
  CHECK(a.use_count() == 1);
}

TEST_CASE("memory of somebody else is kept until the last tensor, and may be read-only",
          "[storage]") {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  bool gone = false;
  auto owner = [&] { return std::shared_ptr<void>(&memory, [&](void*) { gone = true; }); };
  const std::int64_t before = allocator_stats().allocated_bytes;
  {
    Storage storage = Storage::over(memory.data(), 24, owner(), false);
    CHECK(allocator_stats().allocated_bytes == before);
    Tensor backwards = Tensor::from_storage(storage, 5, {2, 3}, {-3, -1}, DType::Float32);
    storage = {};
    CHECK(backwards.to_vector<float>() == std::vector<float>{6, 5, 4, 3, 2, 1});
    backwards.fill_(7);
    CHECK(memory[0] == 7);
    CHECK(!gone);
  }
  CHECK(gone);
  Tensor shut = Tensor::from_storage(Storage::over(memory.data(), 24, owner(), true), 0, {6}, {1},
                                     DType::Float32);
  CHECK_THROWS_AS(shut.fill_(1), ValueError);
  CHECK_THROWS_AS(add_(shut, ones({6})), ValueError);
  shut.clone().fill_(1);
  CHECK(memory[0] == 7);
}

TEST_CASE("handles count their references from several threads", "[storage]") {
  Storage a(100);
  Storage of_one_thread = a;
  std::vector<std::thread> threads;
  std::atomic<long> least = 1000;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20000; ++k) {
        Storage mine = a;
        long seen = mine.use_count();
        if (seen < least) least = seen;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(least >= 3);
  CHECK(a.use_count() == 2);
}

TEST_CASE("threads share the allocator", "[storage]") {
  std::int64_t live = allocator_stats().allocated_bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 1; i < 2000; ++i) {
        Storage s(static_cast<std::size_t>(i % 50 * 64 + 1));
        s.data()[0] = static_cast<std::byte>(t);
        Storage copy = s;
        if (copy.data()[0] != static_cast<std::byte>(t)) std::abort();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(allocator_stats().allocated_bytes == live);
}

#ifndef __SANITIZE_ADDRESS__  // it aborts instead of refusing
TEST_CASE("memory that the system refuses is an error", "[storage]") {
  std::int64_t live = allocator_stats().allocated_bytes;
  Index n = Index{1} << 52;
  std::string text = error_of<MemoryError>([&] { broadcast_to(scalar(1), {n}).clone(); });
  CHECK(text.starts_with("storage: the system refused " + std::to_string(n * 4) + " bytes"));
  CHECK(allocator_stats().allocated_bytes == live);
  CHECK_THROWS_AS(empty({Index{1} << 59}), MemoryError);
}
#endif

namespace test_storage {}  // namespace test_storage

TEST_CASE("a computation ends when its flag is set", "[storage]") {
  std::atomic<bool> stop{false};
  const Tensor x = ones({4});
  {
    Interruptible interruptible(&stop);
    CHECK_NOTHROW(add(x, x));
    stop = true;
    CHECK_THROWS_AS(add(x, x), Interrupted);
    std::thread([&] { CHECK_NOTHROW(add(x, x)); }).join();  // another thread's goes on
    Interruptible not_here(nullptr);
    CHECK_NOTHROW(add(x, x));
  }
  CHECK_NOTHROW(add(x, x));
}
