// The kernels of ops give the same bits with every instruction set (tensor/numerics.md), at lengths around the
// widths of vectors.
#include <initializer_list>
#include <memory>
#include <vector>

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/simd/rows.hpp"

namespace test_same_bits {

using namespace glim;
using namespace glim::kernel_tests;

namespace {

constexpr Index kRows = 5;
const bool kValid[kRows] = {true, false, true, true, false};

std::size_t size(Index a, Index b = 1) { return static_cast<std::size_t>(a * b); }

template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> parts) {
  std::vector<T> all;
  for (const auto& p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}

template <class T>
void check_functions(Index n) {
  auto x = random<T>(size(n), 1), dy = random<T>(size(n), 2);
  for (const FunctionRow& row : kFunctionRows)
    check_same_bits(row.name, n, [&](Isa isa) {
      std::vector<T> dx(size(n));
      dispatch<simd::function_grad<T>>.on(isa)(row.f, n, x.data(), dy.data(), dx.data());
      return dx;
    });
  auto y = x;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 3 == 0 ? 0 : i % 7 == 0 ? NAN : y[i];
  check_same_bits("gradient of relu", n, [&](Isa isa) {
    std::vector<T> dx(size(n));
    dispatch<simd::relu_grad<T>>.on(isa)(n, y.data(), dy.data(), T(1.1), dx.data());
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(dx[i] == (i % 3 == 0 ? 0 : dy[i] * T(1.1)));
    return dx;
  });
  auto rows = random<T>(size(150, n), 3);
  check_same_bits("sum of rows", n, [&](Isa isa) {
    auto total = dy;
    dispatch<simd::sum_rows<T>>.on(isa)(150, n, rows.data(), n, total.data());
    return total;
  });
}

template <class T>
void check_softmax(Index n) {
  auto x = random<T>(size(kRows, n), 1), bias = random<T>(size(kRows, n), 2),
       up = random<T>(size(kRows, n), 3);
  auto draws = random<float>(size(kRows, n), 4);
  auto keep = std::make_unique<bool[]>(size(kRows, n));
  for (std::size_t i = 0; i < draws.size(); ++i) keep[i] = draws[i] > -1 || i % size(n) == 0;
  for (bool masked : {false, true})
    check_same_bits("softmax", n, [&](Isa isa) {
      auto p = x, dp = up, marked = x, dropped = up;
      dispatch<simd::softmax<T>>.on(isa)({kRows, n, p.data(), n, T(0.3),
                                          masked ? bias.data() : nullptr, n, 1,
                                          masked ? keep.get() : nullptr, n, 1});
      dispatch<simd::softmax_grad<T>>.on(isa)(kRows, n, p.data(), n, dp.data(), n, T(0));
      auto of_dropped = dropped;
      marked = p;
      dispatch<simd::draw_mask<T>>.on(isa)({7, 9, 1u << 30, 1 / 0.75}, 3, kRows * n, marked.data(),
                                           dropped.data());
      dispatch<simd::softmax_grad<T>>.on(isa)(kRows, n, marked.data(), n, of_dropped.data(), n,
                                              T(1 / 0.75));
      auto again = dropped;
      dispatch<simd::apply_mask<T>>.on(isa)(kRows * n, T(1 / 0.75), marked.data(), again.data());
      return joined({p, dp, marked, dropped, of_dropped, again});
    });
}

template <class T>
void check_norms(Index n) {
  auto x = random<T>(size(kRows, n), 1), dy = random<T>(size(kRows, n), 2),
       gamma = random<T>(size(n), 3), beta = random<T>(size(n), 4);
  for (bool affine : {false, true}) {
    const T* g = affine ? gamma.data() : nullptr;
    for (bool centered : {true, false})
      check_same_bits(centered ? "layer norm" : "RMS norm", n, [&](Isa isa) {
        std::vector<T> y = x, mean(size(kRows)), inverse = mean, dx = x, dgamma = gamma,
                       dbeta = beta;
        T* mu = centered ? mean.data() : nullptr;
        dispatch<simd::norm_rows<T>>.on(isa)({.rows = kRows,
                                              .columns = n,
                                              .x = {x.data(), n},
                                              .gamma = g,
                                              .beta = affine ? beta.data() : nullptr,
                                              .eps = T(1e-5),
                                              .y = y.data(),
                                              .mean = mu,
                                              .inverse_sigma = inverse.data()});
        dispatch<simd::norm_rows_grad<T>>.on(isa)({.rows = kRows,
                                                   .columns = n,
                                                   .x = {x.data(), n},
                                                   .gamma = g,
                                                   .mean = mu,
                                                   .inverse_sigma = inverse.data(),
                                                   .dy = {dy.data(), n},
                                                   .dx = dx.data(),
                                                   .dgamma = dgamma.data(),
                                                   .dbeta = dbeta.data()});
        return joined({y, mean, inverse, dx, dgamma, dbeta});
      });
  }
}

template <class T>
void check_cross_entropy(Index n) {
  auto x = random<T>(size(kRows, n), 1);
  std::vector<Index> target;
  for (Index r = 0; r < kRows; ++r) target.push_back(r * 7 % n);
  SmoothedTarget q{0.9, 0.1 / static_cast<double>(n), 1, 0};
  std::vector<double> losses;
  auto run = [&](Isa isa) {
    std::vector<T> stats(size(2 * kRows)), dx = x, at_once = x, later = x;
    std::vector<double> cross(size(kRows)), nll(size(kRows));
    dispatch<simd::cross_entropy<T>>.on(isa)(q, kRows, n, at_once.data(), n, target.data(),
                                             stats.data(), cross.data(), nll.data(),
                                             at_once.data());
    dispatch<simd::cross_entropy_grad<T>>.on(isa)(q, kRows, n, x.data(), n, target.data(),
                                                  stats.data(), T(1), later.data(), n);
    CHECK(same_bits(at_once, later));
    dispatch<simd::cross_entropy_grad<T>>.on(isa)(q, kRows, n, x.data(), n, target.data(),
                                                  stats.data(), T(0.3), dx.data(), n);
    losses = joined({cross, nll});
    return joined({stats, dx, at_once});
  };
  check_same_bits("cross-entropy", n, run);
  check_same_bits("losses", n, [&](Isa isa) {
    run(isa);
    return losses;
  });
}

template <class T>
void check_cells(Index n) {
  auto input = random<T>(size(kRows, 4 * n), 1), hidden = random<T>(size(kRows, 4 * n), 2),
       state = random<T>(size(kRows, 2 * n), 3), up = random<T>(size(kRows, 2 * n), 4);
  auto run = [&](Isa isa, bool lstm) {
    const Index gates = lstm ? 4 : 3, held = lstm ? 2 : 1;
    CellRows<T> cell{
        kRows, n, {input.data(), gates * n}, {hidden.data(), gates * n}, {state.data(), held * n},
        kValid};
    std::vector<T> y(size(kRows, held * n)), dinput(size(kRows, gates * n)), dhidden = dinput,
                                                                             dstate = y;
    (lstm ? dispatch<simd::lstm<T>>.on(isa) : dispatch<simd::gru<T>>.on(isa))(cell, y.data());
    RowsAt<T> dy{up.data(), held * n};
    if (lstm)
      dispatch<simd::lstm_grad<T>>.on(isa)(cell, dy, dinput.data(), dstate.data());
    else
      dispatch<simd::gru_grad<T>>.on(isa)(cell, dy, dinput.data(), dhidden.data(), dstate.data());
    return joined({y, dinput, dhidden, dstate});
  };
  for (bool lstm : {false, true})
    check_same_bits(lstm ? "LSTM" : "GRU", n, [&](Isa isa) { return run(isa, lstm); });
  check_same_bits("additive attention", n, [&](Isa isa) {
    AdditiveTile<T> tile{2, 3, n, input.data(), hidden.data(), state.data()};
    std::vector<T> scores(6), dquery(size(2, n)), dkey(size(3, n)), dv(size(n));
    dispatch<simd::additive_scores<T>>.on(isa)(tile, scores.data());
    dispatch<simd::additive_scores_grad<T>>.on(isa)(tile, up.data(), dquery.data(), dkey.data(),
                                                    dv.data());
    return joined({scores, dquery, dkey, dv});
  });
}

}  // namespace

TEST_CASE("kernels of ops give the same bits with every instruction set", "[kernels]") {
  for (Index n : {3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 97, 200, 515}) {
    auto check = [n]<class T>() {
      check_functions<T>(n);
      check_softmax<T>(n);
      check_norms<T>(n);
      check_cross_entropy<T>(n);
      check_cells<T>(n);
    };
    check.template operator()<float>();
    check.template operator()<double>();
  }
}

}  // namespace test_same_bits
