#include "tools/study/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"

namespace glim {

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double deviation_of(const std::vector<double>& x) {
  if (x.size() < 2) return 0;
  double mean = mean_of(x), squares = 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(x.size() - 1));
}

namespace {

// Means, and the sums of the squares and products of what differs from them.
struct Moments {
  double x, y, xx = 0, xy = 0, yy = 0;
};

Moments moments_of(const std::vector<double>& x, const std::vector<double>& y) {
  Moments m{mean_of(x), mean_of(y)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    m.xx += (x[i] - m.x) * (x[i] - m.x);
    m.xy += (x[i] - m.x) * (y[i] - m.y);
    m.yy += (y[i] - m.y) * (y[i] - m.y);
  }
  return m;
}

}  // namespace

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  Moments m = moments_of(x, y);
  Line line;
  line.slope = m.xy / m.xx;
  line.intercept = m.y - line.slope * m.x;
  line.r2 = m.yy == 0 ? 1 : m.xy * m.xy / (m.xx * m.yy);
  return line;
}

Line fit_power_law(const std::vector<double>& x, const std::vector<double>& y) {
  auto logarithms = [](std::vector<double> v) {
    for (double& e : v) e = std::log(e);
    return v;
  };
  return fit_line(logarithms(x), logarithms(y));
}

std::vector<double> ranks_of(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  std::vector<double> ranks(x.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    ++end;  // NaN equals nothing
    while (end < order.size() && x[order[end]] == x[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i)
      ranks[order[i]] = static_cast<double>(first + 1 + end) / 2;
  }
  return ranks;
}

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  Moments m = moments_of(x, y);
  return m.xy / std::sqrt(m.xx * m.yy);
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  for (const auto* list : {&x, &y})
    for (double v : *list)
      if (std::isnan(v)) return v;
  return pearson(ranks_of(x), ranks_of(y));
}

Tensor gaussian(const Shape& shape, DType dtype) {
  return normal(shape, 0, 1, generator().next(), dtype);
}

std::vector<double> row_norms(const Tensor& x) {
  return reshape(sqrt(sum(mul(x, x), {-1})), {-1}).to(DType::Float64).to_vector<double>();
}

double spectral_norm(const Tensor& a) {
  if (a.numel() == 0) return 0;
  Tensor v = normal({a.size(1), 1}, 0, 1, {1, 1}, a.dtype());
  double estimate = 0;
  for (int round = 0; round < 10000; ++round) {
    double length = norm(v);
    if (length == 0) return 0;
    Tensor image = matmul(a, div(v, length));
    double now = norm(image);
    bool settled = std::abs(now - estimate) <= 1e-12 * now;
    estimate = now;
    if (settled) break;
    v = matmul(transpose(a), image);
  }
  return estimate;
}

Tensor token_residual(const Tensor& x) { return sub(x, mean(x, {-2}, true)); }

double relative_residual(const Tensor& x) { return norm(token_residual(x)) / norm(x); }

}  // namespace glim
