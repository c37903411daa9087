// Every algorithm of a product against the sums of its definition.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/fast/products.hpp"
#include "tensor/matmul/blas.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/matmul/plan.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_multiply {

using namespace glim;

namespace {

template <class T>
struct Matrix {
  Index ld;
  std::vector<T> data;
  Matrix(Index rows, Index columns, std::uint64_t stream) : ld(columns) {
    Tensor x = random_tensor({rows, columns}, dtype_of<T>, stream);
    for (Index i = 0; i < x.numel(); ++i) data.push_back(static_cast<T>(element(x, i)));
  }
  T& at(Index r, Index c) { return data[static_cast<std::size_t>(r * ld + c)]; }
};

// multiply(...), with the arguments of gemm, on rows that have a few elements more.
template <class T, class F>
void check_sums(const F& multiply, bool ta, bool tb, Index m, Index n, Index k, T alpha, T beta) {
  Matrix<T> a(ta ? k : m, (ta ? m : k) + 3, 1), b(tb ? n : k, (tb ? k : n) + 1, 2), c(m, n + 5, 3);
  if (beta == T(0)) c.data.assign(c.data.size(), std::numeric_limits<T>::quiet_NaN());
  Matrix<T> before = c;
  multiply(ta, tb, m, n, k, alpha, a.data.data(), a.ld, b.data.data(), b.ld, beta, c.data.data(),
           c.ld);
  INFO(m << " x " << n << " x " << k << (ta ? " aT" : " a") << (tb ? " bT" : " b"));
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < c.ld; ++j) {
      T was = before.at(i, j), is = c.at(i, j);
      if (j >= n) {  // beyond the row nothing is written
        REQUIRE((is == was || (std::isnan(is) && std::isnan(was))));
        continue;
      }
      double sum = 0;
      for (Index p = 0; p < k; ++p)
        sum += static_cast<double>(ta ? a.at(p, i) : a.at(i, p)) *
               static_cast<double>(tb ? b.at(j, p) : b.at(p, j));
      double expected = static_cast<double>(alpha) * sum;
      if (beta != T(0)) expected += static_cast<double>(beta) * static_cast<double>(was);
      REQUIRE(std::abs(static_cast<double>(is) - expected) <=
              (sizeof(T) == 4 ? 2e-6 : 4e-15) * static_cast<double>(k + 4));
    }
}

template <class T>
void check_gemm() {
  // A row, a column, short rows, a few rows, dot products, small and large results, an empty sum.
  const std::array<Index, 3> extents[] = {{1, 9, 7},     {1, 300, 250}, {40, 1, 33},  {5, 6, 0},
                                          {2, 2, 1},     {8, 8, 8},     {9, 33, 15},  {3, 70, 16},
                                          {40, 45, 17},  {6, 100, 40},  {7, 400, 90}, {60, 70, 50},
                                          {130, 36, 70}, {120, 110, 90}};
  for (auto [m, n, k] : extents)
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        auto by_gemm = [](auto... p) { gemm<T>({p...}); };
        check_sums<T>(by_gemm, ta, tb, m, n, k, T(1), T(0));
        check_sums<T>(by_gemm, ta, tb, m, n, k, T(0.5), T(2));
        auto by_blas = [](auto... p) { blas_gemm<T>({p...}); };
        if (k > 0) check_sums<T>(by_blas, ta, tb, m, n, k, T(0.5), T(2));
      }
}

template <class T>
void check_short_rows(Isa isa) {
  auto multiply = [&](bool, bool, auto... rest) {
    dispatch<simd::short_rows_product<T>>.on(isa)(rest...);
  };
  for (Index k : {Index{1}, kShortRow<T> / 2, kShortRow<T> - 1, kShortRow<T>})
    for (Index m : {1, 2, 4, 7})
      for (Index n : {1, 8, 16, 19, 50}) {
        check_sums<T>(multiply, false, true, m, n, k, T(1), T(0));
        check_sums<T>(multiply, false, true, m, n, k, T(0.5), T(2));
      }
  // An element is the same sum wherever the product is cut.
  Index m = 11, n = 37, k = kShortRow<T> - 2;
  Matrix<T> a(m, k, 1), b(n, k, 2), whole(m, n, 3), cut = whole;
  dispatch<simd::short_rows_product<T>>.on(isa)(m, n, k, T(0.5), a.data.data(), k, b.data.data(), k,
                                                T(2), whole.data.data(), n);
  for (Index i = 0; i < m; i += 3)
    for (Index j = 0; j < n; j += 10)
      dispatch<simd::short_rows_product<T>>.on(isa)(
          std::min<Index>(3, m - i), std::min<Index>(10, n - j), k, T(0.5), &a.at(i, 0), k,
          &b.at(j, 0), k, T(2), &cut.at(i, j), n);
  CHECK(cut.data == whole.data);
}

}  // namespace

TEST_CASE("a product is the sums of its definition, whichever algorithm computes it",
          "[matmul][openblas]") {
  check_gemm<float>();
  check_gemm<double>();
}

TEST_CASE("a product over no elements, whose rows have no length, is zero", "[matmul]") {
  std::vector<float> c(6, 3.0f);
  gemm<float>({false, true, 2, 3, 0, 1.0f, nullptr, 0, nullptr, 0, 2.0f, c.data(), 3});
  CHECK(c == std::vector<float>(6, 6.0f));
  gemm<float>({false, false, 2, 3, 0, 1.0f, nullptr, 0, nullptr, 0, 0.0f, c.data(), 3});
  CHECK(c == std::vector<float>(6, 0.0f));
}

TEST_CASE("a product of short rows equals the sums of its definition", "[kernels]") {
  bool any = false;
  for (Isa isa : supported_isas())
    if (isa == Isa::Avx512) {
      any = true;
      check_short_rows<float>(isa);
      check_short_rows<double>(isa);
    }
  if (!any) SUCCEED("no instruction set of this CPU has one");
}

}  // namespace test_multiply
