// Counter-based random numbers: Philox4x32-10 (tensor/philox.hpp). Number i of stream s under seed k is a pure
// function of (k, s, i):
// whatever the number of threads and the order of work, the numbers are the same, and a dropout
// mask need not be stored to be known again.
//
// A Generator hands out streams: each random tensor takes the next one. Its state is two integers,
// which a checkpoint keeps.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/tensor.hpp"

namespace glim {

struct RandomKey {  // names one stream of random numbers
  std::uint64_t seed = 0, stream = 0;
};

// Four 32-bit words: block `i` of the stream.
std::array<std::uint32_t, 4> philox(RandomKey key, std::uint64_t block);
// Uniform in [0, 1): 53 bits of words (2i, 2i + 1) mod 4 of block i / 2, so that float32 and
// float64 draw the same numbers.
double uniform_at(RandomKey key, std::uint64_t i);
// For decisions, at half the cost: word i mod 4 of block i / 4, and the threshold that a word is below with
// probability p, to 2^-32.
std::uint32_t word_at(RandomKey key, std::uint64_t i);
std::uint32_t word_threshold(double p);

class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : seed_(seed) {}
  RandomKey next() { return {seed_, stream_++}; }
  std::uint64_t seed() const { return seed_; }
  std::uint64_t stream() const { return stream_; }
  void set_state(std::uint64_t seed, std::uint64_t stream) {
    seed_ = seed;
    stream_ = stream;
  }

 private:
  std::uint64_t seed_, stream_ = 0;
};

// The generator that initialisers and dropout draw from; one a thread.
Generator& generator();
void seed(std::uint64_t value);  // generator() from the start of `value`

// ValueError: low > high, deviation < 0, probability outside [0, 1]. Floating dtypes only.
Tensor uniform(const Shape& shape, double low, double high, RandomKey key,
               DType dtype = DType::Float32);
Tensor normal(const Shape& shape, double mean, double deviation, RandomKey key,
              DType dtype = DType::Float32);  // Box & Muller 1958
// bool: word_at(key, i) < word_threshold(probability); all true for 1
Tensor bernoulli(const Shape& shape, double probability, RandomKey key);
Tensor random_integers(const Shape& shape, Index low, Index high, RandomKey key);  // [low, high)
Tensor permutation(Index n, RandomKey key);  // int64: 0 … n-1 in random order (Fisher & Yates)

}  // namespace glim
