// The row kernels of every instruction set that this CPU runs agree with plain loops, at lengths
// around the width of a vector.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tensor/random.hpp"
#include "tensor/simd/kernels.hpp"
#include "tests/catch.hpp"

namespace test_kernels_rows {

using namespace glim;

namespace {

template <class T>
std::vector<T> random(std::size_t n, std::uint64_t stream) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(4 * uniform_at({2, stream}, i) - 2);
  return x;
}

template <class T>
bool close(T a, double b) {
  return std::abs(static_cast<double>(a) - b) <=
         (sizeof(T) == 4 ? 2e-6 : 1e-13) * std::max(1.0, std::abs(b));
}

template <class T>
void check_softmax(Isa isa, Index n) {
  auto x = random<T>(static_cast<std::size_t>(2 * n), 1), p = x;
  std::vector<char> keep(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = i % 3 != 1;
  row_kernels<T>(isa).softmax(
      {2, n, p.data(), n, T(0.5), nullptr, 0, 0, reinterpret_cast<const bool*>(keep.data()), 0, 1});
  for (Index r = 0; r < 2; ++r) {
    double total = 0;
    auto at = [&](Index i) { return static_cast<std::size_t>(r * n + i); };
    for (Index i = 0; i < n; ++i)
      if (keep[static_cast<std::size_t>(i)]) total += std::exp(0.5 * static_cast<double>(x[at(i)]));
    for (Index i = 0; i < n; ++i) {
      bool kept = keep[static_cast<std::size_t>(i)];
      CHECK(close(p[at(i)], kept ? std::exp(0.5 * static_cast<double>(x[at(i)])) / total : 0));
    }
  }
}

// Rows whose masks and biases differ, and one in the middle that keeps nothing.
template <class T>
void check_softmax_tile(Isa isa, Index rows, Index n, Index empty_row) {
  auto at = [n](Index r, Index i) { return static_cast<std::size_t>(r * n + i); };
  auto x = random<T>(static_cast<std::size_t>(rows * n), 11), bias = random<T>(x.size(), 12), p = x;
  std::vector<char> keep(x.size());
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < n; ++i) keep[at(r, i)] = r != empty_row && (i <= r || i % 3 == 0);
  row_kernels<T>(isa).softmax({rows, n, p.data(), n, T(0.5), bias.data(), n, 1,
                               reinterpret_cast<const bool*>(keep.data()), n, 1});
  for (Index r = 0; r < rows; ++r) {
    double total = 0;
    auto e = [&](Index i) {
      return keep[at(r, i)] ? std::exp(0.5 * static_cast<double>(x[at(r, i)]) +
                                       static_cast<double>(bias[at(r, i)]))
                            : 0.0;
    };
    for (Index i = 0; i < n; ++i) total += e(i);
    INFO("row " << r);
    for (Index i = 0; i < n; ++i) CHECK(close(p[at(r, i)], total > 0 ? e(i) / total : 0));
  }
  // One row at a time: the same bits.
  for (Index r = 0; r < rows; ++r)
    row_kernels<T>(isa).softmax({1, n, x.data() + r * n, n, T(0.5), bias.data() + r * n, n, 1,
                                 reinterpret_cast<const bool*>(keep.data()) + r * n, n, 1});
  CHECK(x == p);
}

// Marks say what dropout dropped, for 0 and NaN as well.
template <class T>
void check_marks(Isa isa) {
  const RowKernels<T>& kernels = row_kernels<T>(isa);
  Key key{5, 6};
  DropSpec drop{key.seed, key.stream, word_threshold(0.3), 1 / 0.7};
  for (Index first : {0, 5, 64}) {
    for (Index n : {1, 33, 100}) {
      auto size = static_cast<std::size_t>(n);
      auto p = random<T>(size, 13), y = p, again = p, dp = random<T>(size, 14);
      for (T& v : p) v = std::abs(v);
      if (n > 1) p[1] = 0;
      auto marked = p;
      kernels.mark_dropped(drop, first, n, marked.data(), y.data());
      kernels.drop_marked(n, static_cast<T>(drop.scale), marked.data(), again.data());
      CHECK(again == y);
      std::vector<T> dropped = p, gradient = dp, left = dp;
      kernels.dropout(drop, first, n, p.data(), nullptr, dropped.data());
      CHECK(y == dropped);
      for (std::size_t i = 0; i < size; ++i) {
        CHECK(std::abs(marked[i]) == p[i]);
        CHECK(std::signbit(marked[i]) ==
              (word_at(key, static_cast<std::uint64_t>(first) + i) < word_threshold(0.3)));
      }
      kernels.softmax_grad(1, n, marked.data(), n, gradient.data(), n, static_cast<T>(drop.scale));
      kernels.dropout(drop, first, n, dp.data(), nullptr, left.data());
      double inner = 0;
      for (std::size_t i = 0; i < size; ++i)
        inner += static_cast<double>(p[i]) * static_cast<double>(left[i]);
      for (std::size_t i = 0; i < size; ++i)
        CHECK(std::abs(static_cast<double>(gradient[i]) -
                       static_cast<double>(p[i]) * (static_cast<double>(left[i]) - inner)) <
              (sizeof(T) == 4 ? 1e-4 : 1e-12));
    }
  }
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> p(64), y(64);
  for (std::size_t i = 0; i < 64; ++i) p[i] = i % 2 ? nan : -nan;
  kernels.mark_dropped(drop, 0, 64, p.data(), y.data());
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(std::isnan(p[i]));
    CHECK(std::isnan(y[i]) != (word_at(key, i) < word_threshold(0.3)));
    CHECK(std::signbit(p[i]) == (word_at(key, i) < word_threshold(0.3)));
  }
}

template <class T>
void check_special_rows(Isa isa) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  auto softmax = [&](std::vector<T> x) {
    auto n = static_cast<Index>(x.size());
    row_kernels<T>(isa).softmax({1, n, x.data(), n, T(1), nullptr, 0, 0, nullptr, 0, 0});
    return x;
  };
  CHECK(softmax({-inf, -inf, -inf}) == std::vector<T>{0, 0, 0});
  CHECK(softmax({-inf, 5, -inf}) == std::vector<T>{0, 1, 0});
  CHECK(softmax({-1000, 0}) == std::vector<T>{0, 1});
  for (T v : softmax({nan, -inf, -inf})) CHECK(std::isnan(v));
  for (T v : softmax({1, nan, 2})) CHECK(std::isnan(v));
  for (T v : softmax({1, inf})) CHECK((std::isnan(v) || v == 0));
}

template <class T>
void check_dropout(Isa isa) {
  Key key{0x123456789ABCDEF0, 0xFEDCBA9876543210};
  for (Index first : {0, 1, 31, 32, 100}) {
    for (Index n : {1, 16, 31, 64, 101}) {
      auto x = random<T>(static_cast<std::size_t>(n), 3), addend = random<T>(x.size(), 4), y = x;
      row_kernels<T>(isa).dropout({key.seed, key.stream, word_threshold(0.3), 1 / 0.7}, first, n,
                                  x.data(), addend.data(), y.data());
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
void check_sums(Isa isa, Index n) {
  auto size = static_cast<std::size_t>(n);
  Index rows = 130;
  auto x = random<T>(static_cast<std::size_t>(rows) * size, 5);
  std::vector<T> total(size, T(1));
  row_kernels<T>(isa).sum_rows(rows, n, x.data(), n, total.data());
  for (std::size_t c = 0; c < size; ++c) {
    double expected = 1;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      expected += static_cast<double>(x[r * size + c]);
    CHECK(std::abs(static_cast<double>(total[c]) - expected) < (sizeof(T) == 4 ? 1e-4 : 1e-12));
  }
  auto y = x, bias = random<T>(size, 6);
  row_kernels<T>(isa).add_bias(2, n, bias.data(), true, y.data(), n);
  for (std::size_t i = 0; i < 2 * size; ++i)
    CHECK(close(y[i],
                std::max(0.0, static_cast<double>(x[i]) + static_cast<double>(bias[i % size]))));
}

template <class T>
void check_adam(Isa isa, Index n) {
  auto size = static_cast<std::size_t>(n);
  auto w = random<T>(size, 15), g = random<T>(size, 16), m = random<T>(size, 17),
       v = random<T>(size, 18);
  for (T& square : v) square = std::abs(square);
  auto w1 = w, m1 = m, v1 = v;
  AdamStep<T> s{T(0.9), T(0.1), T(0.98), T(0.02), T(1e-3), T(0.01), T(0.5), T(0.2), T(0.999)};
  row_kernels<T>(isa).adam(s, n, w1.data(), g.data(), m1.data(), v1.data());
  for (std::size_t i = 0; i < size; ++i) {
    double d = static_cast<double>(g[i]) + 0.2 * static_cast<double>(w[i]);
    double mean = 0.9 * static_cast<double>(m[i]) + 0.1 * d;
    double square = 0.98 * static_cast<double>(v[i]) + 0.02 * d * d;
    CHECK(close(m1[i], mean));
    CHECK(close(v1[i], square));
    CHECK(close(
        w1[i], 0.999 * static_cast<double>(w[i]) - 0.01 * mean / (std::sqrt(square) / 0.5 + 1e-3)));
  }
}

}  // namespace

TEST_CASE("row kernels of each instruction set", "[kernels]") {
  for (Isa isa : supported_isas()) {
    INFO(std::string(name_of(isa)));
    for (Index n : {1, 3, 7, 8, 9, 15, 16, 17, 33, 100}) {
      INFO("columns " << n);
      check_softmax<float>(isa, n);
      check_softmax<double>(isa, n);
      check_sums<float>(isa, n);
      check_sums<double>(isa, n);
      check_adam<float>(isa, n);
      check_adam<double>(isa, n);
    }
    for (Index n : {1, 5, 8, 15, 16, 17, 31, 32, 33})
      for (Index rows : {1, 2, 3, 4, 7, 13})
        for (Index empty_row : {-1, 1, 5}) {
          INFO(rows << " rows of " << n << ", row " << empty_row << " keeps nothing");
          check_softmax_tile<float>(isa, rows, n, empty_row);
          check_softmax_tile<double>(isa, rows, n, empty_row);
        }
    check_marks<float>(isa);
    check_marks<double>(isa);
    check_special_rows<float>(isa);
    check_special_rows<double>(isa);
    check_dropout<float>(isa);
    check_dropout<double>(isa);
  }
}

TEST_CASE("dropout keeps what it should", "[kernels]") {
  Index n = 100000;
  std::vector<float> x(static_cast<std::size_t>(n), 1), y = x;
  row_kernels<float>().dropout({1, 2, word_threshold(0.25), 1 / 0.75}, 0, n, x.data(), nullptr,
                               y.data());
  double kept = 0;
  for (float v : y) kept += v != 0;
  // Five standard deviations of a binomial.
  CHECK(std::abs(kept / static_cast<double>(n) - 0.75) < 5 * std::sqrt(0.75 * 0.25 / 1e5));
}

TEST_CASE("a product of few rows equals the sums of its definition", "[kernels]") {
  auto check = []<class T>(Isa isa, Index m, Index n, Index k) {
    auto size = [](Index a, Index b) { return static_cast<std::size_t>(a * b); };
    auto a = random<T>(size(m, k + 3), 1), b = random<T>(size(n, k + 1), 2),
         c = random<T>(size(m, n), 3), before = c;
    std::vector<T> scratch(static_cast<std::size_t>(few_rows_scratch(m, k)));
    row_kernels<T>(isa).few_rows_product(m, n, k, T(0.5), a.data(), k + 3, b.data(), k + 1, T(2),
                                         c.data(), n, scratch.data());
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
          check.operator()<float>(isa, m, n, k);
          check.operator()<double>(isa, m, n, k);
        }
      // One to four registers of a's rows, rests of b's rows, and more than a panel of them.
      for (Index m : {9, 17, 33, 60, 100}) check.operator()<float>(isa, m, 45, k);
      for (Index m : {9, 18, 31}) check.operator()<double>(isa, m, 21, k);
      check.operator()<float>(isa, 20, 2, k);
      check.operator()<float>(isa, 70, 203, k);
    }
}

TEST_CASE("a row times a matrix equals the sums of its definition", "[kernels]") {
  auto check = []<class T>(Isa isa, Index n, Index k) {
    Index ld = n + 3;
    auto a = random<T>(static_cast<std::size_t>(k), 1),
         b = random<T>(static_cast<std::size_t>(k * ld), 2),
         c = random<T>(static_cast<std::size_t>(n), 3), before = c;
    row_kernels<T>(isa).row_product(n, k, T(0.5), a.data(), b.data(), ld, T(2), c.data());
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

TEST_CASE("one element has a layer norm's gradient of exactly 0", "[kernels]") {
  // γ dy is its own mean; multiplied and subtracted in one rounding it would not be.
  auto check = []<class T>(Isa isa) {
    Index rows = 50;
    auto size = static_cast<std::size_t>(rows);
    auto x = random<T>(size, 1), dy = random<T>(size, 2), gamma = random<T>(1, 3);
    std::vector<T> mean = x, inverse_sigma(size, T(316)), dx(size, T(1));
    row_kernels<T>(isa).layer_norm_grad(rows, 1, x.data(), 1, gamma.data(), mean.data(),
                                        inverse_sigma.data(), dy.data(), 1, dx.data(), nullptr,
                                        nullptr);
    CHECK(dx == std::vector<T>(size, T(0)));
  };
  for (Isa isa : supported_isas()) {
    INFO(name_of(isa));
    check.operator()<float>(isa);
    check.operator()<double>(isa);
  }
}

}  // namespace test_kernels_rows
