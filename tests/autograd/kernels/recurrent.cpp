// The recurrent kernels of every instruction set that this CPU runs agree with plain loops, at
// lengths around the width of a vector, and keep their sense at the ends of the number line.
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_kernels_recurrent {

using namespace glim;

namespace {

template <class T>
std::vector<T> random(Index n, std::uint64_t stream) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(4 * uniform_at({5, stream}, i) - 2);
  return x;
}

template <class T>
bool close(T a, double b) {
  return std::abs(static_cast<double>(a) - b) <=
         (sizeof(T) == 4 ? 2e-6 : 1e-13) * std::max(1.0, std::abs(b));
}

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

constexpr Index kRows = 3;
const bool kLive[kRows] = {true, false, true};

template <class T>
void check_gru(Isa isa, Index n) {
  // Rows of the input are further apart than they are long, as those of one step of many do.
  auto gi = random<T>(kRows * (3 * n + 5), 1), gh = random<T>(kRows * 3 * n, 2),
       h = random<T>(kRows * n, 3);
  std::vector<T> y(h.size());
  dispatch<simd::gru<T>>.on(isa)(
      {kRows, n, {gi.data(), 3 * n + 5}, {gh.data(), 3 * n}, {h.data(), n}, kLive}, y.data());
  for (Index r = 0; r < kRows; ++r)
    for (Index j = 0; j < n; ++j) {
      auto i = [&](Index k) { return double(gi[std::size_t(r * (3 * n + 5) + k * n + j)]); };
      auto g = [&](Index k) { return double(gh[std::size_t((r * 3 + k) * n + j)]); };
      auto at = std::size_t(r * n + j);
      double z = sigma(i(1) + g(1)), c = std::tanh(i(2) + sigma(i(0) + g(0)) * g(2));
      if (kLive[r])
        CHECK(close(y[at], (1 - z) * c + z * double(h[at])));
      else
        CHECK(y[at] == h[at]);
    }
}

template <class T>
void check_lstm(Isa isa, Index n) {
  auto gi = random<T>(kRows * 4 * n, 1), gh = random<T>(gi.size(), 2),
       state = random<T>(kRows * 2 * n, 3);
  std::vector<T> y(state.size());
  dispatch<simd::lstm<T>>.on(isa)(
      {kRows, n, {gi.data(), 4 * n}, {gh.data(), 4 * n}, {state.data(), 2 * n}, kLive}, y.data());
  for (Index r = 0; r < kRows; ++r)
    for (Index j = 0; j < n; ++j) {
      auto a = [&](Index k) {
        auto at = std::size_t((r * 4 + k) * n + j);
        return double(gi[at]) + double(gh[at]);
      };
      auto h = std::size_t(r * 2 * n + j), c = h + std::size_t(n);
      double next = sigma(a(1)) * double(state[c]) + sigma(a(0)) * std::tanh(a(2));
      if (kLive[r]) {
        CHECK(close(y[c], next));
        CHECK(close(y[h], sigma(a(3)) * std::tanh(next)));
      } else {
        CHECK(y[h] == state[h]);
        CHECK(y[c] == state[c]);
      }
    }
}

template <class T>
void check_scores(Isa isa, Index n) {
  auto q = random<T>(2 * n, 1), k = random<T>(3 * n, 2), v = random<T>(n, 3);
  std::vector<T> e(6);
  dispatch<simd::additive_scores<T>>.on(isa)({2, 3, n, q.data(), k.data(), v.data()}, e.data());
  for (Index t = 0; t < 2; ++t)
    for (Index s = 0; s < 3; ++s) {
      double total = 0;
      for (Index a = 0; a < n; ++a)
        total += double(v[std::size_t(a)]) *
                 std::tanh(double(q[std::size_t(t * n + a)]) + double(k[std::size_t(s * n + a)]));
      CHECK(close(e[std::size_t(t * 3 + s)], total));
    }
}

// tanh by itself: a GRU whose update gate is shut gives its candidate.
template <class T>
T tanh_of(Isa isa, T x) {
  T gi[3] = {0, -1000, x}, gh[3] = {0, 0, 0}, h = 0, y = 0;
  dispatch<simd::gru<T>>.on(isa)({1, 1, {gi, 3}, {gh, 3}, {&h, 1}, nullptr}, &y);
  return y;
}
// σ by itself: the update gate, between a candidate of 0 and a state of 1.
template <class T>
T sigma_of(Isa isa, T x) {
  T gi[3] = {0, x, 0}, gh[3] = {0, 0, 0}, h = 1, y = 0;
  dispatch<simd::gru<T>>.on(isa)({1, 1, {gi, 3}, {gh, 3}, {&h, 1}, nullptr}, &y);
  return y;
}

template <class T>
void check_functions(Isa isa) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  double limit = sizeof(T) == 4 ? 3e-7 : 1e-15;  // relative, also of the smallest
  for (double x : {1e-30, 1e-8, 1e-3, 0.1, 0.62, 0.625, 0.63, 1.0, 5.0, 9.0, 20.0, 100.0, 1e4})
    for (double sign : {-1.0, 1.0}) {
      auto v = static_cast<T>(sign * x);
      INFO(name_of(isa) << " " << v);
      double expected = std::tanh(static_cast<double>(v));
      CHECK(std::abs(double(tanh_of(isa, v)) - expected) <= limit * std::abs(expected));
      double s = sigma(static_cast<double>(v));
      CHECK(std::abs(double(sigma_of(isa, v)) - s) <= limit * s + 1e-37);
    }
  CHECK(tanh_of(isa, inf) == 1);
  CHECK(tanh_of(isa, -inf) == -1);
  CHECK(sigma_of(isa, inf) == 1);
  CHECK(sigma_of(isa, -inf) == 0);
  CHECK(std::isnan(tanh_of(isa, nan)));
  CHECK(std::isnan(sigma_of(isa, nan)));
}

template <class T>
void check_all() {
  for (Isa isa : supported_isas()) {
    for (Index n : {1, 7, 8, 15, 16, 17, 40}) {
      INFO(name_of(isa) << ", " << n);
      check_gru<T>(isa, n);
      check_lstm<T>(isa, n);
      check_scores<T>(isa, n);
    }
    check_functions<T>(isa);
  }
}

}  // namespace

TEST_CASE("recurrent kernels agree with plain loops", "[kernels][recurrent]") {
  check_all<float>();
  check_all<double>();
}

}  // namespace test_kernels_recurrent
