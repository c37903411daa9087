// Row kernels give the same bits with every instruction set (tensor/numerics.md), at lengths around the widths
// of vectors.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/fast/products.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/simd/rows.hpp"

namespace test_kernels_same_bits {

using namespace glim;
using namespace glim::kernel_tests;

namespace {

constexpr Index kLengths[] = {1,  2,  3,  4,  5,  7,  8,  9,  15, 16,  17,
                              24, 31, 32, 33, 48, 63, 64, 65, 97, 200, 1003};

std::size_t size(Index a, Index b = 1) { return static_cast<std::size_t>(a * b); }

template <class T>
void check_rows(Index n) {
  auto x = random<T>(size(n), 1), z = random<T>(size(n), 2);
  for (T& v : x) v *= 4;
  for (const FunctionRow& row : kFunctionRows)
    check_same_bits(row.name, n, [&](Isa isa) {
      auto y = x;
      dispatch<simd::function<T>>.on(isa)(row.f, n, x.data(), y.data());
      return y;
    });
  check_same_bits("sum of exponentials", n, [&](Isa isa) {
    auto y = x;
    T m = dispatch<simd::largest<T>>.on(isa)(n, x.data());
    y.push_back(m);
    y.push_back(dispatch<simd::sum_of_exponentials<T>>.on(isa)(n, m, x.data(), y.data()));
    return y;
  });
  check_same_bits("bias and dropout", n, [&](Isa isa) {
    auto y = x;
    dispatch<simd::add_bias<T>>.on(isa)(1, n, z.data(), true, y.data(), n);
    dispatch<simd::dropout<T>>.on(isa)({7, 9, 1u << 30, 1 / 0.75}, 5, n, y.data(), z.data(),
                                       y.data());
    return y;
  });
}

template <class T>
void check_products(Index m, Index n, Index k) {
  constexpr Index kDepth = 48;
  Index ld = std::max(k, n) + 3;
  auto a = random<T>(size(m, ld), 1), b = random<T>(size(ld, ld), 2),
       before = random<T>(size(m, n), 3);
  PackedBlocks blocks{kDepth, 24, 64};
  std::vector<T> scratch(size(few_rows_scratch(m, k) + kDepth * (24 + 64)));
  for (T beta : {T(0), T(0.7)}) {
    const T alpha = T(0.3);
    auto packed = [&](Isa isa, bool transpose_b) {
      auto c = before;
      dispatch<simd::packed_product<T>>.on(isa)(false, transpose_b, m, n, k, alpha, a.data(), ld,
                                                b.data(), ld, beta, c.data(), n, blocks,
                                                scratch.data());
      return c;
    };
    check_same_bits("packed product", k, [&](Isa isa) { return packed(isa, false); });
    auto in_blocks = packed(Isa::Baseline, true);
    check_same_bits("few rows", k, [&](Isa isa) {
      auto c = before;
      dispatch<simd::few_rows_product<T>>.on(isa)(m, n, k, kDepth, alpha, a.data(), ld, b.data(),
                                                  ld, beta, c.data(), n, scratch.data());
      CHECK(same_bits(c, in_blocks));
      return c;
    });
    check_same_bits("dot products", k, [&](Isa isa) {
      auto c = before;
      dispatch<simd::dots_product<T>>.on(isa)(m, n, k, alpha, a.data(), ld, b.data(), ld, beta,
                                              c.data(), n);
      return c;
    });
    auto by_rows = packed(Isa::Baseline, false);
    check_same_bits("a row times a matrix", k, [&](Isa isa) {
      auto c = before;
      for (Index r = 0; r < m; ++r)
        dispatch<simd::row_product<T>>.on(isa)(n, k, kDepth, alpha, a.data() + r * ld, b.data(), ld,
                                               beta, c.data() + r * n);
      CHECK(same_bits(c, by_rows));
      return c;
    });
    for (Isa isa : supported_isas())
      if (isa == Isa::Avx512 && k <= kShortRow<T>) {
        auto c = before;
        dispatch<simd::short_rows_product<T>>.on(isa)(m, n, k, alpha, a.data(), ld, b.data(), ld,
                                                      beta, c.data(), n);
        CHECK(same_bits(c, in_blocks));
      }
  }
}

}  // namespace

TEST_CASE("kernels of rows give the same bits with every instruction set", "[kernels]") {
  for (Index n : kLengths) {
    check_rows<float>(n);
    check_rows<double>(n);
  }
}

TEST_CASE("products give the same bits with every instruction set, by every algorithm",
          "[kernels]") {
  for (Index m : {1, 2, 5, 9, 13, 33})
    for (Index n : {1, 3, 4, 17, 40, 70})
      for (Index k : {1, 8, 15, 16, 17, 48, 49, 100}) {
        check_products<float>(m, n, k);
        check_products<double>(m, n, k);
      }
}

// c·beta + b, by a product whose sum is b: sums that are between two numbers, or nearly, and cancel.
TEST_CASE("a fused multiply-add rounds once with every instruction set", "[kernels]") {
  auto spread = [](std::uint64_t stream) {
    std::vector<float> x(20000);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double mantissa = std::round(64 * uniform_at({3, stream}, i) - 32) / 32;
      if (i % 3 == 0) mantissa += 0x1p-23;
      x[i] = static_cast<float>(
          std::ldexp(mantissa, static_cast<int>(60 * uniform_at({4, stream}, i) - 30)));
    }
    return x;
  };
  auto beta = spread(1), b = spread(2), c = spread(3);
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (i % 5 == 0) b[i] = -beta[i] * c[i];
    if (i % 7 == 0) b[i] = std::ldexp(beta[i], 12), c[i] = std::ldexp(c[i], -24);
    if (i % 11 == 0) b[i] = std::ldexp(b[i], -125), c[i] = std::ldexp(c[i], -125);  // subnormal
  }
  const float one = 1;
  for (Isa isa : supported_isas()) {
    std::vector<float> y = c;
    Index wrong = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      dispatch<simd::row_product<float>>.on(isa)(1, 1, 16, 1, &one, &b[i], 1, beta[i], &y[i]);
      wrong += y[i] != std::fma(beta[i], c[i], b[i]);
    }
    INFO(name_of(isa));
    CHECK(wrong == 0);
  }
}

}  // namespace test_kernels_same_bits
