// The values of GradBench's evaluations by loops over numbers, which are double or ADOL-C's adouble: the formulas of the
// files beside this one.
#pragma once

#include <adolc/adolc.h>
#include <cmath>
#include <numbers>

#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {

using std::cos, std::exp, std::log, std::sin, std::sqrt, std::tanh;  // not those of tensors

using Numbers = std::vector<double>;
template <class T>
using Row = std::vector<T>;

inline double number(double x) { return x; }
inline double number(const adouble& x) { return x.value(); }

inline Numbers numbers_of(const Json& lists) { return tensor_of(lists).to_vector<double>(); }
inline void append(Numbers& to, const Json& lists) {
  for (double x : numbers_of(lists)) to.push_back(x);
}

template <class T>
T log_sum_exp(const T* x, std::size_t n) {
  double top = number(x[0]);
  for (std::size_t i = 1; i < n; ++i) top = std::max(top, number(x[i]));
  T total = 0;
  for (std::size_t i = 0; i < n; ++i) total += exp(x[i] - top);
  return log(total) + top;
}

template <class T>
T sigmoid(const T& x) {
  return 1 / (1 + exp(-x));
}

// det.cpp: the expansion of the rows from `depth` on, by the columns that are left.
template <class T>
T minor(const Row<T>& a, std::size_t n, std::size_t depth, const Row<std::size_t>& left) {
  if (left.size() == 1) return a[depth * n + left[0]];
  T total = 0;
  for (std::size_t j = 0; j < left.size(); ++j) {
    Row<std::size_t> others = left;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
    T product = a[depth * n + left[j]] * minor(a, n, depth + 1, others);
    if (j % 2 == 0)
      total += product;
    else
      total -= product;
  }
  return total;
}

// ode.cpp
template <class T>
Row<T> solved(const Row<T>& x, Index steps) {
  const std::size_t n = x.size();
  const double h = 2.0 / steps;
  Row<T> y(n, T(0)), at(n), k(n), sum(n);
  for (Index step = 0; step < steps; ++step) {
    for (int stage = 0; stage < 4; ++stage) {
      const double by = stage == 0 ? 0 : stage == 3 ? h : h / 2, weight = stage % 3 == 0 ? 1 : 2;
      for (std::size_t i = 0; i < n; ++i) at[i] = stage == 0 ? y[i] : y[i] + by * k[i];
      k[0] = x[0];
      for (std::size_t i = 1; i < n; ++i) k[i] = x[i] * at[i - 1];
      for (std::size_t i = 0; i < n; ++i) {
        if (stage == 0)
          sum[i] = k[i];
        else
          sum[i] += weight * k[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) y[i] += h / 6 * sum[i];
  }
  return y;
}

// ba.cpp: the errors of an observation, e (2) and 1 - w², by its 15 numbers.
template <class T>
Row<T> observed(const Row<T>& z, const Numbers& measured) {
  Row<T> x(3), P(3);
  T square = 0, along = 0;
  for (int i = 0; i < 3; ++i) {
    x[i] = z[11 + i] - z[3 + i];
    square += z[i] * z[i];
    along += z[i] * x[i];
  }
  T angle = sqrt(square), c = cos(angle), s = sin(angle) / angle, t = (1 - c) / square * along;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    P[i] = c * x[i] + s * (z[j] * x[k] - z[k] * x[j]) + t * z[i];
  }
  T a = P[0] / P[2], b = P[1] / P[2], r = a * a + b * b;
  T scale = z[6] * (1 + z[9] * r + z[10] * r * r);
  Row<T> e(3);
  e[0] = z[14] * (a * scale + z[7] - measured[0]);
  e[1] = z[14] * (b * scale + z[8] - measured[1]);
  e[2] = 1 - z[14] * z[14];
  return e;
}

// gmm.cpp
struct Mixture {
  std::size_t d, k, n;
  double gamma, m, constant;
  Numbers points;
  explicit Mixture(const Json& input)
      : d(input.at("d")),
        k(input.at("k")),
        n(input.at("n")),
        gamma(input.at("gamma")),
        m(input.at("m")),
        points(numbers_of(input.at("x"))) {
    const double p = d + m + 1;
    double log_gamma = d * (d - 1) / 4.0 * log(std::numbers::pi);
    for (std::size_t j = 0; j < d; ++j) log_gamma += std::lgamma((p - j) / 2);
    constant = k * (p * d * (log(gamma) - std::numbers::ln2 / 2) - log_gamma) -
               n * d / 2.0 * log(2 * std::numbers::pi);
  }
  // z = [α μ q l]
  template <class T>
  T operator()(const Row<T>& z) const {
    const std::size_t below = d * (d - 1) / 2;
    const T *alpha = z.data(), *mu = alpha + k, *q = mu + k * d, *l = q + k * d;
    Row<T> diagonal(k * d), offset(k), terms(k), apart(d);
    T y = constant;
    for (std::size_t c = 0; c < k; ++c) {
      offset[c] = alpha[c];
      for (std::size_t i = c * d; i < (c + 1) * d; ++i) {
        offset[c] += q[i];
        diagonal[i] = exp(q[i]);
        y += m * q[i] - gamma * gamma / 2 * diagonal[i] * diagonal[i];
      }
      for (std::size_t i = c * below; i < (c + 1) * below; ++i)
        y -= gamma * gamma / 2 * l[i] * l[i];
    }
    for (std::size_t point = 0; point < n; ++point) {
      for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t i = 0; i < d; ++i) apart[i] = points[point * d + i] - mu[c * d + i];
        T square = 0;
        for (std::size_t i = 0; i < d; ++i) {
          T turned = diagonal[c * d + i] * apart[i];
          for (std::size_t j = 0; j < i; ++j)  // l is column by column
            turned += l[c * below + j * d - j * (j + 1) / 2 + i - j - 1] * apart[j];
          square += turned * turned;
        }
        terms[c] = offset[c] - square / 2;
      }
      y += log_sum_exp(terms.data(), k);
    }
    y -= static_cast<double>(n) * log_sum_exp(alpha, k);
    return y;
  }
};

// kmeans.cpp
struct Clusters {
  std::size_t d;
  Numbers points;
  explicit Clusters(const Json& input)
      : d(input.at("points").at(0).size()), points(numbers_of(input.at("points"))) {}
  std::size_t nearest(const double* point, const Numbers& centroids) const {
    std::size_t found = 0;
    double least = INFINITY;
    for (std::size_t at = 0; at < centroids.size(); at += d) {
      double square = 0;
      for (std::size_t i = 0; i < d; ++i)
        square += (point[i] - centroids[at + i]) * (point[i] - centroids[at + i]);
      if (square < least) {
        least = square;
        found = at;
      }
    }
    return found;
  }
  template <class T>
  T operator()(const Row<T>& centroids) const {
    Numbers values(centroids.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = number(centroids[i]);
    T y = 0;
    for (std::size_t point = 0; point < points.size(); point += d) {
      const std::size_t at = nearest(&points[point], values);
      for (std::size_t i = 0; i < d; ++i) {
        T apart = points[point + i] - centroids[at + i];
        y += apart * apart;
      }
    }
    return y;
  }
};

// llsq.cpp
struct Polynomial {
  int n;
  template <class T>
  T operator()(const Row<T>& x) const {
    T y = 0;
    for (int i = 0; i < n; ++i) {
      const double t = 2.0 / (n - 1) * i - 1;
      T apart = (t > 0) - (t < 0);
      double power = 1;
      for (std::size_t j = 0; j < x.size(); ++j, power *= t) apart -= power * x[j];
      y += apart * apart;
    }
    y /= 2;
    return y;
  }
};

// lstm.cpp
struct Lstm {
  std::size_t bits, layers, steps;
  Numbers state, sequence;
  explicit Lstm(const Json& input)
      : bits(input.at("extra_params").at(0).size()),
        layers(input.at("main_params").size() / 2),
        steps(input.at("sequence").size() - 1),
        state(numbers_of(input.at("state"))),
        sequence(numbers_of(input.at("sequence"))) {}
  template <class T>
  T operator()(const Row<T>& parameters) const {
    const T* extra = &parameters[8 * layers * bits];
    Row<T> now(state.begin(), state.end()), x(bits);
    T y = 0;
    for (std::size_t t = 0; t < steps; ++t) {
      for (std::size_t i = 0; i < bits; ++i) x[i] = sequence[t * bits + i] * extra[i];
      for (std::size_t layer = 0; layer < layers; ++layer) {
        const T* w = &parameters[8 * layer * bits];
        T *h = &now[2 * layer * bits], *c = h + bits;
        for (std::size_t i = 0; i < bits; ++i) {
          auto gate = [&](std::size_t g, const T& in) -> T {
            return in * w[g * bits + i] + w[(4 + g) * bits + i];
          };
          c[i] = sigmoid<T>(gate(0, x[i])) * c[i] + sigmoid<T>(gate(1, h[i])) * tanh(gate(3, h[i]));
          x[i] = h[i] = sigmoid<T>(gate(2, x[i])) * tanh(c[i]);
        }
      }
      T normalizer = 2;
      for (std::size_t i = 0; i < bits; ++i) {
        x[i] = x[i] * extra[bits + i] + extra[2 * bits + i];
        normalizer += exp(x[i]);
      }
      normalizer = log(normalizer);
      for (std::size_t i = 0; i < bits; ++i)
        y -= sequence[(t + 1) * bits + i] * (x[i] - normalizer);
    }
    y /= static_cast<double>(steps * bits);
    return y;
  }
};

}  // namespace glim::gradbench
