// The packed product against the sums of its definition, and its bits against its cuts.
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/fast/products.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_kernels_packed {

using namespace glim;

namespace {

template <class T>
std::vector<T> drawn(Index n, std::uint64_t stream) {
  std::vector<T> values;
  Tensor x = random_tensor({n}, dtype_of<T>, stream);
  for (Index i = 0; i < n; ++i) values.push_back(static_cast<T>(element(x, i)));
  return values;
}

// op(a) (m, k) and op(b) (k, n), stored as the flags say with rows that have a few elements more.
template <class T>
struct Product {
  bool transpose_a, transpose_b;
  Index m, n, k;
  Index lda = (transpose_a ? m : k) + 3, ldb = (transpose_b ? k : n) + 1, ldc = n + 5;
  std::vector<T> a = drawn<T>((transpose_a ? k : m) * lda, 1);
  std::vector<T> b = drawn<T>((transpose_b ? n : k) * ldb, 2);

  static T& in(std::vector<T>& x, Index i) { return x[static_cast<std::size_t>(i)]; }
  T& at_a(Index i, Index p) { return in(a, transpose_a ? p * lda + i : i * lda + p); }
  T& at_b(Index p, Index j) { return in(b, transpose_b ? j * ldb + p : p * ldb + j); }

  // The part of c from (r, q) of so many rows and columns.
  void run(Isa isa, const PackedBlocks& blocks, Index r, Index q, Index rows, Index columns,
           T alpha, T beta, std::vector<T>& c) {
    std::vector<T> scratch(static_cast<std::size_t>(blocks.depth * (blocks.rows + blocks.columns)));
    dispatch<simd::packed_product<T>>.on(isa)(transpose_a, transpose_b, rows, columns, k, alpha,
                                              a.data() + (transpose_a ? r : r * lda), lda,
                                              b.data() + (transpose_b ? q * ldb : q), ldb, beta,
                                              c.data() + r * ldc + q, ldc, blocks, scratch.data());
  }
};

// Calls f for each instruction set.
template <class F>
void for_each_isa(const F& f) {
  for (Isa isa : supported_isas()) f(isa);
}

template <class T>
void check_sums(const PackedBlocks& blocks, bool ta, bool tb, Index m, Index n, Index k, T alpha,
                T beta) {
  for_each_isa([&](Isa isa) {
    Product<T> product{ta, tb, m, n, k};
    auto before = drawn<T>(m * product.ldc, 3);
    if (beta == T(0)) before.assign(before.size(), std::numeric_limits<T>::quiet_NaN());
    auto c = before;
    product.run(isa, blocks, 0, 0, m, n, alpha, beta, c);
    INFO(m << " x " << n << " x " << k << (ta ? " aT" : " a") << (tb ? " bT" : " b"));
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < product.ldc; ++j) {
        T was = product.in(before, i * product.ldc + j), is = product.in(c, i * product.ldc + j);
        if (j >= n) {  // beyond the row nothing is written
          REQUIRE((is == was || (std::isnan(is) && std::isnan(was))));
          continue;
        }
        double sum = 0;
        for (Index p = 0; p < k; ++p)
          sum += static_cast<double>(product.at_a(i, p)) * static_cast<double>(product.at_b(p, j));
        double expected = static_cast<double>(alpha) * sum;
        if (beta != T(0)) expected += static_cast<double>(beta) * static_cast<double>(was);
        REQUIRE(std::abs(static_cast<double>(is) - expected) <=
                (sizeof(T) == 4 ? 3e-5 : 1e-13) * (1 + std::abs(expected)));
      }
  });
}

}  // namespace

TEST_CASE("a packed product equals the sums of its definition", "[kernels]") {
  // Blocks so small that every extent below is several of them, with a rest.
  PackedBlocks small{16, 24, 64}, large{96, 60, 128};
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      for (Index m : {1, 2, 3, 7, 11, 12, 13, 25, 60})
        for (Index n : {1, 8, 15, 16, 17, 31, 32, 33, 70}) {
          check_sums<float>(small, ta, tb, m, n, 21, 0.5f, 0.0f);
          check_sums<double>(small, ta, tb, m, n, 21, 0.5, 2.0);
        }
      for (Index k : {1, 2, 11, 12, 13, 16, 33, 100}) {
        check_sums<float>(small, ta, tb, 30, 150, k, 0.3f, 0.7f);
        check_sums<float>(large, ta, tb, 30, 150, k, 1.0f, 0.0f);
        check_sums<double>(small, ta, tb, 30, 90, k, 0.3, 0.7);
      }
      check_sums<float>(large, ta, tb, 70, 140, 110, 1.0f, 1.0f);
      check_sums<double>(large, ta, tb, 50, 150, 110, 1.0, 1.0);
    }
}

TEST_CASE("rows read in place give the bits of packed ones", "[kernels]") {
  // The distance of rows decides: multiples of 2 KiB are packed.
  auto check = []<class T>(bool ta, bool tb, Index m, Index n, Index k) {
    for_each_isa([&](Isa isa) {
      Product<T> in_place{ta, tb, m, n, k}, packed = in_place;
      packed.lda = packed.ldb = 1024;
      packed.a.assign(static_cast<std::size_t>((ta ? k : m) * packed.lda), T(99));
      packed.b.assign(static_cast<std::size_t>((tb ? n : k) * packed.ldb), T(99));
      for (Index p = 0; p < k; ++p) {
        for (Index i = 0; i < m; ++i) packed.at_a(i, p) = in_place.at_a(i, p);
        for (Index j = 0; j < n; ++j) packed.at_b(p, j) = in_place.at_b(p, j);
      }
      std::vector<T> c(static_cast<std::size_t>(m * packed.ldc), T(1)), d = c;
      in_place.run(isa, {48, 24, 64}, 0, 0, m, n, T(0.3), T(0.7), c);
      packed.run(isa, {48, 24, 64}, 0, 0, m, n, T(0.3), T(0.7), d);
      INFO(m << " x " << n << " x " << k << (ta ? " aT" : " a") << (tb ? " bT" : " b"));
      CHECK((c == d));
    });
  };
  for (Index m : {1, 2, 3, 5, 6, 7, 11, 12, 13, 24, 31, 61})
    for (Index n : {1, 16, 32, 33, 80, 100}) {
      check.operator()<float>(false, true, m, n, 70);
      check.operator()<double>(false, true, m, n, 70);
      for (bool ta : {false, true})  // both matrices are in a first cache
        for (bool tb : {false, true}) {
          check.operator()<float>(ta, tb, m, n, 21);
          check.operator()<double>(ta, tb, m, n, 10);
        }
    }
}

TEST_CASE("a packed product may be cut anywhere without a change in its bits", "[kernels]") {
  auto check = []<class T>(bool ta, bool tb, T alpha, T beta) {
    for_each_isa([&](Isa isa) {
      Index m = 67, n = 133, k = 90;
      Product<T> product{ta, tb, m, n, k};
      auto before = drawn<T>(m * product.ldc, 3);
      auto whole = before;
      product.run(isa, {48, 240, 512}, 0, 0, m, n, alpha, beta, whole);
      for (auto [rows, columns] :
           std::vector<std::array<Index, 2>>{{1, 1}, {5, 9}, {12, 32}, {13, 33}, {40, 100}}) {
        auto c = before;
        for (Index r = 0; r < m; r += rows)
          for (Index q = 0; q < n; q += columns)
            product.run(isa, {48, 12, 32}, r, q, std::min(rows, m - r), std::min(columns, n - q),
                        alpha, beta, c);
        INFO("tiles of " << rows << " x " << columns << ", alpha " << alpha << ", " << sizeof(T)
                         << " bytes");
        CHECK((c == whole));
      }
    });
  };
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      check.operator()<float>(ta, tb, 1.0f, 0.0f);
      check.operator()<float>(ta, tb, 0.3f, 0.7f);  // products that round
      check.operator()<double>(ta, tb, 0.3, 0.7);
    }
}

}  // namespace test_kernels_packed
