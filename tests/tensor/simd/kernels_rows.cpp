// The row kernels of every instruction set that this CPU runs agree with plain loops, at lengths
// around the width of a vector.
#include <cmath>
#include <string>
#include <vector>

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

}  // namespace test_kernels_rows
