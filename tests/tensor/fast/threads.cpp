// A product has the same bits for any number of threads, and wherever it is called.
#include <array>
#include <atomic>
#include <csignal>
#include <omp.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tensor/matmul/blas.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/simd/kernels.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/tensor/common.hpp"

namespace test_threads {

using namespace glim;

namespace {

constexpr DType F32 = DType::Float32, F64 = DType::Float64;
const std::vector<std::array<Index, 3>> kSizes{
    {512, 128, 128}, {130, 300, 70},  {1, 2000, 1500}, {1500, 2000, 1},
    {64, 64, 64},    {65, 64, 64},    {2000, 3, 50},   {50, 3, 2000},
    {7, 5000, 7},    {129, 257, 515}, {16, 4096, 16},  {96, 96, 96},
    {333, 77, 111},  {600, 500, 400}, {301, 800, 450}, {1000, 33, 17}};

}  // namespace

TEST_CASE("the number of threads does not change a bit of a product", "[matmul][threads]") {
  std::uint64_t stream = 0;
  for (DType t : {F32, F64})
    for (std::size_t i = kSanitized && t == F64; i < kSizes.size(); i += kEvery) {
      auto [m, k, n] = kSizes[i];
      INFO(m << " x " << k << " x " << n);
      Tensor a = random_tensor({m, k}, t, stream++), b = random_tensor({k, n}, t, stream++);
      Tensor at = transpose(transpose(a).clone()), bt = transpose(transpose(b).clone());
      for (GemmEngine large : {GemmEngine::Builtin, GemmEngine::OpenBlas}) {
        if (kSanitized && large == GemmEngine::OpenBlas) continue;  // whose memory they do not see
        for (const Tensor& u : {a, at})
          for (const Tensor& v : {b, bt})
            CHECK(same_for_any_threads([&] { return matmul_by(large, u, v); }));
      }
    }
  for (Shape s : {Shape{64, 16, 64}, Shape{12, 100, 64}, Shape{3, 200, 150}, Shape{2, 2, 80, 80},
                  Shape{2, 700, 500}}) {
    Tensor x = random_tensor(s, F32, stream++);
    CHECK(same_for_any_threads([&] { return matmul(x, transpose(x)); }));
    CHECK(same_for_any_threads([&] { return matmul(transpose(x), x); }));
    Tensor w = random_tensor({s.back(), 90}, F32, stream++);
    CHECK(same_for_any_threads([&] { return matmul(x, w); }));
  }
}

TEST_CASE("a thread of one's own gets the same bits", "[matmul][threads]") {
  // OpenBLAS would use all processors there, and some of its kernels then give other bits.
  std::uint64_t stream = 0;
  for (Index m : {33, 127, 333})
    for (Index k : {64, 300, 1000})
      for (Index n : {20, 77, 130}) {
        Tensor a = random_tensor({m, k}, F32, stream++), b = random_tensor({k, n}, F32, stream++);
        Tensor here = zeros({m, n}), there = zeros({m, n}), product = matmul(a, b), other;
        auto multiply = [&](const Tensor& c) {
          gemm<float>({false, false, m, n, k, 1, a.data<float>(), k, b.data<float>(), n, 0,
                       c.data<float>(), n});
        };
        multiply(here);
        std::thread([&] {
          multiply(there);
          other = matmul(a, b);
        }).join();
        CHECK(same_bits(here, there));
        CHECK(same_bits(product, other));
        // One whose first product is in a parallel loop: what is set there ends with the loop.
        there.fill_(0);
        int threads_of_libraries = 0;
        std::thread([&] {
          parallel_each(4, [&](Index) { static_cast<void>(matmul(a, b)); });
          multiply(there);
          static_cast<void>(matmul_by(GemmEngine::OpenBlas, zeros({8, 8}), zeros({8, 8})));
          threads_of_libraries = omp_get_max_threads();  // what OpenBLAS asks before a call
        }).join();
        CHECK(threads_of_libraries == 1);
        CHECK(same_bits(here, there));
      }
}

namespace {
// 1: a thread is in the handler. 2: it may go on. 3: it has given up.
std::atomic<int> kept_away{0};
}  // namespace

TEST_CASE("a thread that does not run delays no loop", "[matmul][threads]") {
  const int threads = num_threads();
  set_num_threads(2);
  const pthread_t here = pthread_self();
  pthread_t helper = here;
  std::atomic<int> met{0};
  parallel_each(2, [&](Index) {  // each waits for the other, so two threads have one each
    if (!pthread_equal(pthread_self(), here)) helper = pthread_self();
    for (++met; met < 2;) std::this_thread::yield();
  });
  REQUIRE_FALSE(pthread_equal(helper, here));
  std::signal(SIGUSR1, [](int) {
    int away = kept_away = 1;
    for (int i = 0; i < 3000 && kept_away == away; ++i) usleep(1000);
    if (kept_away.compare_exchange_strong(away, 3)) return;
    kept_away = 0;
  });
  pthread_kill(helper, SIGUSR1);
  while (kept_away == 0) std::this_thread::yield();
  std::atomic<Index> sum{0};
  for (int loop = 0; loop < 100; ++loop) parallel_each(8, [&](Index i) { sum += i; });
  CHECK(sum == 2800);
  int away = 1;
  CHECK(kept_away.compare_exchange_strong(away, 2));  // the loops ended first
  while (kept_away == 2) std::this_thread::yield();
  std::signal(SIGUSR1, SIG_DFL);
  set_num_threads(threads);
}

TEST_CASE("a product within a parallel loop gets the same bits", "[matmul][threads]") {
  Tensor a = random_tensor({300, 200}, F32, 1), b = random_tensor({200, 100}, F32, 2);
  Tensor expected = matmul(a, b);
  std::vector<Tensor> results(8);
  parallel_each(8, [&](Index i) { results[static_cast<std::size_t>(i)] = matmul(a, b); });
  for (const Tensor& r : results) CHECK(same_bits(r, expected));
}

}  // namespace test_threads
