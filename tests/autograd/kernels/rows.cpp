// The kernels of the ops, for every instruction set that this CPU runs, agree with plain loops, at lengths
// around the width of a vector.
#include "tests/tensor/simd/rows.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autograd/kernels/rows.hpp"
#include "autograd/kernels/simd/op_kernels.hpp"
#include "autograd/ops.hpp"
#include "autograd/tape.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_kernels_rows {

using namespace glim;
using namespace glim::kernel_tests;

namespace {

// Rows whose masks and biases differ, and one in the middle that keeps nothing.
template <class T>
void check_softmax_tile(Isa isa, Index rows, Index n, Index empty_row) {
  auto at = [n](Index r, Index i) { return static_cast<std::size_t>(r * n + i); };
  auto x = random<T>(static_cast<std::size_t>(rows * n), 11), bias = random<T>(x.size(), 12), p = x;
  std::vector<char> keep(x.size());
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < n; ++i) keep[at(r, i)] = r != empty_row && (i <= r || i % 3 == 0);
  dispatch<simd::softmax<T>>.on(isa)({rows, n, p.data(), n, T(0.5), bias.data(), n, 1,
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
    dispatch<simd::softmax<T>>.on(isa)({1, n, x.data() + r * n, n, T(0.5), bias.data() + r * n, n,
                                        1, reinterpret_cast<const bool*>(keep.data()) + r * n, n,
                                        1});
  CHECK(x == p);
}

// A decision that holds for a whole row leaves it as it is, or makes it zeros.
template <class T>
void check_rows_kept(Isa isa, Index rows, Index n, Index empty_row) {
  auto x = random<T>(static_cast<std::size_t>(rows * n), 13), all = x;
  std::vector<char> keep(static_cast<std::size_t>(rows), 1);
  keep[static_cast<std::size_t>(empty_row)] = 0;
  dispatch<simd::softmax<T>>.on(isa)({rows, n, x.data(), n, T(0.5), nullptr, 0, 0,
                                      reinterpret_cast<const bool*>(keep.data()), 1, 0});
  dispatch<simd::softmax<T>>.on(isa)(
      {rows, n, all.data(), n, T(0.5), nullptr, 0, 0, nullptr, 0, 0});
  std::fill_n(all.begin() + empty_row * n, n, T(0));
  CHECK(x == all);
}

// Marks say what dropout dropped, for 0 and NaN as well.
template <class T>
void check_marks(Isa isa) {
  RandomKey key{5, 6};
  DropSpec drop{key.seed, key.stream, word_threshold(0.3), 1 / 0.7};
  for (Index first : {0, 5, 64}) {
    for (Index n : {1, 33, 100}) {
      auto size = static_cast<std::size_t>(n);
      auto p = random<T>(size, 13), y = p, again = p, dp = random<T>(size, 14);
      for (T& v : p) v = std::abs(v);
      if (n > 1) p[1] = 0;
      auto marked = p;
      dispatch<simd::draw_mask<T>>.on(isa)(drop, first, n, marked.data(), y.data());
      dispatch<simd::apply_mask<T>>.on(isa)(n, static_cast<T>(drop.scale), marked.data(),
                                            again.data());
      CHECK(again == y);
      std::vector<T> dropped = p, gradient = dp, left = dp;
      dispatch<simd::dropout<T>>.on(isa)(drop, first, n, p.data(), nullptr, dropped.data());
      CHECK(y == dropped);
      for (std::size_t i = 0; i < size; ++i) {
        CHECK(std::abs(marked[i]) == p[i]);
        CHECK(std::signbit(marked[i]) ==
              (word_at(key, static_cast<std::uint64_t>(first) + i) < word_threshold(0.3)));
      }
      dispatch<simd::softmax_grad<T>>.on(isa)(1, n, marked.data(), n, gradient.data(), n,
                                              static_cast<T>(drop.scale));
      dispatch<simd::dropout<T>>.on(isa)(drop, first, n, dp.data(), nullptr, left.data());
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
  dispatch<simd::draw_mask<T>>.on(isa)(drop, 0, 64, p.data(), y.data());
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
    dispatch<simd::softmax<T>>.on(isa)({1, n, x.data(), n, T(1), nullptr, 0, 0, nullptr, 0, 0});
    return x;
  };
  CHECK(softmax({-inf, -inf, -inf}) == std::vector<T>{0, 0, 0});
  CHECK(softmax({-inf, 5, -inf}) == std::vector<T>{0, 1, 0});
  CHECK(softmax({-1000, 0}) == std::vector<T>{0, 1});
  for (T v : softmax({nan, -inf, -inf})) CHECK(std::isnan(v));
  for (T v : softmax({1, nan, 2})) CHECK(std::isnan(v));
  for (T v : softmax({1, inf})) CHECK((std::isnan(v) || v == 0));
}

}  // namespace

TEST_CASE("kernels of the ops of each instruction set", "[kernels]") {
  for (Isa isa : supported_isas()) {
    INFO(std::string(name_of(isa)));
    for (Index n : {1, 5, 8, 15, 16, 17, 31, 32, 33})
      for (Index rows : {1, 2, 3, 4, 7, 13})
        for (Index empty_row : {-1, 0, 1, 5}) {
          INFO(rows << " rows of " << n << ", row " << empty_row << " keeps nothing");
          check_softmax_tile<float>(isa, rows, n, empty_row);
          check_softmax_tile<double>(isa, rows, n, empty_row);
        }
    for (Index rows : {1, 4, 7})
      for (Index empty_row = 0; empty_row < rows; ++empty_row) {
        check_rows_kept<float>(isa, rows, 5, empty_row);
        check_rows_kept<double>(isa, rows, 5, empty_row);
      }
    check_marks<float>(isa);
    check_marks<double>(isa);
    check_special_rows<float>(isa);
    check_special_rows<double>(isa);
  }
}

TEST_CASE("one element has a layer norm's gradient of exactly 0", "[kernels]") {
  // γ dy is its own mean; multiplied and subtracted in one rounding it would not be.
  auto check = []<class T>(Isa isa) {
    Index rows = 50;
    auto size = static_cast<std::size_t>(rows);
    auto x = random<T>(size, 1), dy = random<T>(size, 2), gamma = random<T>(1, 3);
    std::vector<T> mean = x, inverse_sigma(size, T(316)), dx(size, T(1));
    dispatch<simd::norm_rows_grad<T>>.on(isa)({.rows = rows,
                                               .columns = 1,
                                               .x = {x.data(), 1},
                                               .gamma = gamma.data(),
                                               .mean = mean.data(),
                                               .inverse_sigma = inverse_sigma.data(),
                                               .dy = {dy.data(), 1},
                                               .dx = dx.data(),
                                               .dgamma = nullptr,
                                               .dbeta = nullptr});
    CHECK(dx == std::vector<T>(size, T(0)));
  };
  for (Isa isa : supported_isas()) {
    INFO(name_of(isa));
    check.operator()<float>(isa);
    check.operator()<double>(isa);
  }
}

TEST_CASE("the bias of one output gets the sum over all rows", "[kernels]") {
  for (Index rows : {1000, 100'000, 200'000}) {  // one piece, two, and more
    Var x = Var::leaf(ones({rows, 2})), w = Var::leaf(ones({1, 2})), b = Var::leaf(zeros({1}));
    Tape tape;
    tape.backward(linear(x, w, b), ones({rows, 1}));
    CHECK(b.grad().item() == static_cast<double>(rows));
  }
}

TEST_CASE("the gradient of a bias is added up in pieces of 65,536 elements", "[kernels]") {
  const Index rows = 3000, n = 64, piece = 1024;
  auto dy = random<float>(static_cast<std::size_t>(rows * n), 21);
  auto sum = [&](Index count, const float* x) {
    std::vector<float> total(n);
    dispatch<simd::sum_rows<float>>(count, n, x, n, total.data());
    return total;
  };
  std::vector<float> parts;
  for (Index r = 0; r < rows; r += piece) {
    const auto part = sum(std::min(piece, rows - r), dy.data() + r * n);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  const auto expected = sum(static_cast<Index>(parts.size()) / n, parts.data());
  Var x = Var::leaf(ones({rows, 2})), w = Var::leaf(ones({n, 2}));
  for (bool relu : {false, true}) {  // of values above 0 it is the same
    Var b = Var::leaf(zeros({n}));
    Tape tape;
    tape.backward(relu ? linear_relu(x, w, b) : linear(x, w, b), from_vector(dy, {rows, n}));
    CHECK(b.grad().to_vector<float>() == expected);
  }
}

}  // namespace test_kernels_rows
