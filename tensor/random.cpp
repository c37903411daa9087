#include "tensor/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/philox.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

__extension__ using Wide = unsigned __int128;

// y[i] = f(i), in parallel.
template <class T, class F>
void generate(const Tensor& y, const F& f) {
  T* p = y.data<T>();
  parallel_for(y.numel(), 8192, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) p[i] = static_cast<T>(f(static_cast<std::uint64_t>(i)));
  });
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double pair_to_unit(std::uint32_t low, std::uint32_t high) {
  std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;  // 53 bits
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

std::array<std::uint32_t, 4> philox(RandomKey key, std::uint64_t block) {
  auto product = [](std::uint64_t a, std::uint64_t b) { return (a & 0xFFFFFFFF) * b; };
  auto [w] = philox_words(key.seed, key.stream, block, product);
  auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  return {low(w[0]), low(w[1]), low(w[2]), low(w[3])};
}

double uniform_at(RandomKey key, std::uint64_t i) {
  auto w = philox(key, i / 2);
  return i % 2 ? pair_to_unit(w[2], w[3]) : pair_to_unit(w[0], w[1]);
}

std::uint32_t word_at(RandomKey key, std::uint64_t i) { return philox(key, i / 4)[i % 4]; }

std::uint32_t word_threshold(double p) {
  double t = std::round(std::ldexp(p, 32));
  return static_cast<std::uint32_t>(std::clamp(t, 0.0, 4294967295.0));
}

Generator& generator() {
  thread_local Generator g;
  return g;
}

void seed(std::uint64_t value) { generator().set_state(value, 0); }

Tensor uniform(const Shape& shape, double low, double high, RandomKey key, DType dtype) {
  if (!(low <= high)) throw ValueError("uniform", "the lower bound is above the upper one");
  bool narrow = dtype == DType::Float32;
  // Rounding may reach the upper bound, in float32 once in 2^25 numbers: the number below is next.
  double below = narrow ? std::nextafter(static_cast<float>(high), -kInfinity)
                        : std::nextafter(high, -kInfinity);
  auto drawn = [=](std::uint64_t i) {
    double v = low + (high - low) * uniform_at(key, i);
    if (narrow) v = static_cast<float>(v);
    return v >= high && low < high ? below : v;
  };
  Tensor y = empty(shape, dtype);
  require_floating(y, "uniform");
  visit_floating(dtype, [&]<class T>() { generate<T>(y, drawn); });
  return y;
}

Tensor normal(const Shape& shape, double mean, double deviation, RandomKey key, DType dtype) {
  if (!(deviation >= 0)) throw ValueError("normal", "the deviation is negative");
  Tensor y = empty(shape, dtype);
  require_floating(y, "normal");
  const Index n = y.numel();
  visit_floating(dtype, [&]<class T>() {
    T* p = y.data<T>();
    parallel_for((n + 1) / 2, 4096, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {  // elements 2i and 2i + 1
        auto w = philox(key, static_cast<std::uint64_t>(i));
        double radius = std::sqrt(-2 * portable::log(1 - pair_to_unit(w[0], w[1])));  // 1 - u > 0
        double angle = 2 * std::numbers::pi * pair_to_unit(w[2], w[3]);
        p[2 * i] = static_cast<T>(mean + deviation * radius * portable::cos(angle));
        if (2 * i + 1 == n) return;
        p[2 * i + 1] = static_cast<T>(mean + deviation * radius * portable::sin(angle));
      }
    });
  });
  return y;
}

Tensor bernoulli(const Shape& shape, double probability, RandomKey key) {
  if (!(probability >= 0 && probability <= 1))
    throw ValueError("bernoulli", "the probability is outside [0, 1]");
  Tensor y = empty(shape, DType::Bool);
  std::uint32_t threshold = word_threshold(probability);
  bool all = probability == 1;
  generate<bool>(y, [=](std::uint64_t i) { return all || word_at(key, i) < threshold; });
  return y;
}

Tensor random_integers(const Shape& shape, Index low, Index high, RandomKey key) {
  if (low >= high) throw ValueError("random_integers", "the range is empty");
  Tensor y = empty(shape, DType::Int64);
  // The upper 64 bits of (64 random bits)·span (Lemire 2019): below span, off from equal chances by
  // at most span / 2^64.
  std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  generate<Index>(y, [=](std::uint64_t i) {
    auto w = philox(key, i / 2);
    std::uint64_t bits =
        i % 2 ? std::uint64_t{w[3]} << 32 | w[2] : std::uint64_t{w[1]} << 32 | w[0];
    auto upper = static_cast<std::uint64_t>(static_cast<Wide>(bits) * span >> 64);
    return static_cast<Index>(static_cast<std::uint64_t>(low) + upper);
  });
  return y;
}

Tensor permutation(Index n, RandomKey key) {
  if (n < 0)
    throw ValueError("permutation",
                     "the number of elements must be at least 0, got " + std::to_string(n));
  Tensor y = arange(0, static_cast<double>(n));
  Index* p = y.data<Index>();
  for (Index i = n - 1; i > 0; --i) {
    auto j = static_cast<Index>(uniform_at(key, static_cast<std::uint64_t>(i)) *
                                static_cast<double>(i + 1));
    std::swap(p[i], p[j]);
  }
  return y;
}

}  // namespace glim
