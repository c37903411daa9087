#include "tools/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace glim {
namespace {

// Sums over elements that are all finite. Element i goes to lane i % 8: eight sums need not wait for one another, and
// the compiler takes several at once.
constexpr Index kLanes = 8;
struct Lanes {
  double low[kLanes], high[kLanes], squares[kLanes]{}, sum[kLanes]{}, zeros[kLanes]{};
  double apart[kLanes]{};  // Σ (v - v): NaN unless all are finite
};
double total(const double (&lanes)[kLanes]) { return std::accumulate(lanes, lanes + kLanes, 0.0); }

template <class T>
Lanes lanes_of(const T* values, Index n) {
  Lanes all;
  std::fill_n(all.low, kLanes, std::numeric_limits<double>::infinity());
  std::fill_n(all.high, kLanes, -std::numeric_limits<double>::infinity());
  auto take = [&](Index lane, double v) __attribute__((always_inline)) {
    all.low[lane] = v < all.low[lane] ? v : all.low[lane];
    all.high[lane] = v > all.high[lane] ? v : all.high[lane];
    all.squares[lane] += v * v;
    all.sum[lane] += v;
    all.zeros[lane] += v == 0 ? 1.0 : 0.0;
    all.apart[lane] += v - v;
  };
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (Index lane = 0; lane < kLanes; ++lane) take(lane, static_cast<double>(values[i + lane]));
  for (Index lane = 0; i + lane < n; ++lane) take(lane, static_cast<double>(values[i + lane]));
  return all;
}

}  // namespace

Statistics statistics(const Tensor& x) {
  Statistics s;
  s.count = x.numel();
  if (s.count == 0) return s;
  Tensor all = x.contiguous();
  visit_dtype(all.dtype(), [&]<class T>() {
    const T* values = all.data<T>();
    std::vector<double> finite;
    Index n = s.count;
    Lanes lanes = lanes_of(values, n);
    if (total(lanes.apart) != 0) {
      for (Index i = 0; i < n; ++i)
        if (const auto v = static_cast<double>(values[i]); std::isfinite(v)) finite.push_back(v);
      n = std::ssize(finite);
      s.not_finite = s.count - n;
      if (n == 0) return;
      lanes = lanes_of(finite.data(), n);
    }
    s.low = *std::min_element(lanes.low, lanes.low + kLanes);
    s.high = *std::max_element(lanes.high, lanes.high + kLanes);
    s.norm = std::sqrt(total(lanes.squares));
    s.mean = total(lanes.sum) / static_cast<double>(n);
    s.zeros = total(lanes.zeros) / static_cast<double>(n);
  });
  return s;
}

}  // namespace glim
