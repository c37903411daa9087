// The row kernels of every instruction set that this CPU runs agree with plain loops, at lengths
// around the width of a vector.
#include <cmath>
#include <string>
#include <vector>

#include "tensor/fast/products.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/simd/rows.hpp"

namespace test_kernels_rows {

using namespace glim;
using namespace glim::kernel_tests;

namespace {

template <class T>
void check_dropout(Isa isa) {
  RandomKey key{0x123456789ABCDEF0, 0xFEDCBA9876543210};
  for (Index first : {0, 1, 31, 32, 100}) {
    for (Index n : {1, 16, 31, 64, 101}) {
      auto x = random<T>(static_cast<std::size_t>(n), 3), addend = random<T>(x.size(), 4), y = x;
      dispatch<simd::dropout<T>>.on(isa)({key.seed, key.stream, word_threshold(0.3), 1 / 0.7},
                                         first, n, x.data(), addend.data(), y.data());
      for (Index i = 0; i < n; ++i) {
        auto k = static_cast<std::size_t>(i);
        bool dropped = word_at(key, static_cast<std::uint64_t>(first + i)) < word_threshold(0.3);
        CHECK(close(y[k], static_cast<double>(addend[k]) +
                              (dropped ? 0 : static_cast<double>(x[k]) / 0.7)));
        if (dropped) CHECK(y[k] == addend[k]);
      }
    }
  }
}

template <class T>
void check_bias(Isa isa, Index n) {
  auto size = static_cast<std::size_t>(n);
  auto x = random<T>(2 * size, 5), bias = random<T>(size, 6), y = x;
  dispatch<simd::add_bias<T>>.on(isa)(2, n, bias.data(), true, y.data(), n);
  for (std::size_t i = 0; i < 2 * size; ++i)
    CHECK(close(y[i],
                std::max(0.0, static_cast<double>(x[i]) + static_cast<double>(bias[i % size]))));
}

}  // namespace

TEST_CASE("bias and dropout of each instruction set", "[kernels]") {
  for (Isa isa : supported_isas()) {
    INFO(std::string(name_of(isa)));
    for (Index n : {1, 3, 7, 8, 9, 15, 16, 17, 33, 100}) {
      INFO("columns " << n);
      check_bias<float>(isa, n);
      check_bias<double>(isa, n);
    }
    check_dropout<float>(isa);
    check_dropout<double>(isa);
  }
}

TEST_CASE("dropout keeps what it should", "[kernels]") {
  Index n = 100000;
  std::vector<float> x(static_cast<std::size_t>(n), 1), y = x;
  dispatch<simd::dropout<float>>({1, 2, word_threshold(0.25), 1 / 0.75}, 0, n, x.data(), nullptr,
                                 y.data());
  double kept = 0;
  for (float v : y) kept += v != 0;
  // Five standard deviations of a binomial.
  CHECK(std::abs(kept / static_cast<double>(n) - 0.75) < 5 * std::sqrt(0.75 * 0.25 / 1e5));
}

TEST_CASE("a product of few rows equals the sums of its definition", "[kernels]") {
  auto check = []<class T>(Isa isa, bool dots, Index m, Index n, Index k) {
    auto size = [](Index a, Index b) { return static_cast<std::size_t>(a * b); };
    auto a = random<T>(size(m, k + 3), 1), b = random<T>(size(n, k + 1), 2),
         c = random<T>(size(m, n), 3), before = c;
    std::vector<T> scratch(static_cast<std::size_t>(few_rows_scratch(m, k)));
    if (dots)
      dispatch<simd::dots_product<T>>.on(isa)(m, n, k, T(0.5), a.data(), k + 3, b.data(), k + 1,
                                              T(2), c.data(), n);
    else
      dispatch<simd::few_rows_product<T>>.on(isa)(m, n, k, 48, T(0.5), a.data(), k + 3, b.data(),
                                                  k + 1, T(2), c.data(), n, scratch.data());
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index q = 0; q < k; ++q)
          sum += static_cast<double>(a[static_cast<std::size_t>(i * (k + 3) + q)]) *
                 static_cast<double>(b[static_cast<std::size_t>(j * (k + 1) + q)]);
        auto at = static_cast<std::size_t>(i * n + j);
        double expected = 0.5 * sum + 2 * static_cast<double>(before[at]);
        CHECK(std::abs(static_cast<double>(c[at]) - expected) <=
              (sizeof(T) == 4 ? 1e-5 : 1e-13) * (1 + std::abs(expected)));
      }
  };
  for (Isa isa : supported_isas())
    for (Index k : {1, 16, 37, 64}) {
      for (Index m = 1; m <= 8; ++m)
        for (Index n : {3, 4, 23}) {
          check.operator()<float>(isa, true, m, n, k);
          check.operator()<double>(isa, true, m, n, k);
        }
      // One to four registers of a's rows, rests of b's rows, and more than a panel of them.
      for (Index m : {9, 17, 33, 60, 100}) check.operator()<float>(isa, false, m, 45, k);
      for (Index m : {9, 18, 31}) check.operator()<double>(isa, false, m, 21, k);
      check.operator()<float>(isa, false, 20, 2, k);
      check.operator()<float>(isa, false, 70, 203, k);
    }
}

TEST_CASE("a row times a matrix equals the sums of its definition", "[kernels]") {
  auto check = []<class T>(Isa isa, Index n, Index k) {
    Index ld = n + 3;
    auto a = random<T>(static_cast<std::size_t>(k), 1),
         b = random<T>(static_cast<std::size_t>(k * ld), 2),
         c = random<T>(static_cast<std::size_t>(n), 3), before = c;
    dispatch<simd::row_product<T>>.on(isa)(n, k, 48, T(0.5), a.data(), b.data(), ld, T(2),
                                           c.data());
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index q = 0; q < k; ++q)
        sum += static_cast<double>(a[static_cast<std::size_t>(q)]) *
               static_cast<double>(b[static_cast<std::size_t>(q * ld + j)]);
      auto at = static_cast<std::size_t>(j);
      double expected = 0.5 * sum + 2 * static_cast<double>(before[at]);
      CHECK(std::abs(static_cast<double>(c[at]) - expected) <=
            (sizeof(T) == 4 ? 1e-5 : 1e-13) * (1 + std::abs(expected)));
    }
  };
  for (Isa isa : supported_isas())
    for (Index n : {1, 15, 16, 37, 64, 151})
      for (Index k : {1, 33}) {
        check.operator()<float>(isa, n, k);
        check.operator()<double>(isa, n, k);
      }
}

}  // namespace test_kernels_rows
