// The random numbers behind shuffles and generated text. The standard library leaves the results of
// its distributions and of std::shuffle to each implementation, so a run could not be repeated with
// another one; these are defined here to the bit.
//
// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
//
//   z_i = mix(key + i γ),  γ = 0x9e3779b97f4a7c15
//
// It is counter-based: the i-th number is a function of (key, i), and two streams of the same seed
// differ by their key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace glim {

class SplitMix64 {
 public:
  // `stream` separates uses of one seed, e.g. the epoch.
  explicit SplitMix64(std::uint64_t seed, std::uint64_t stream = 0)
      : key_(mix(mix(seed + kGamma) ^ mix(stream * 2 + 1))) {}

  std::uint64_t next() { return mix(key_ + ++counter_ * kGamma); }

  // Uniform in [0, n), n > 0. Numbers from the incomplete last multiple of n are drawn again, so
  // that no value is favoured.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t biased = (0 - n) % n;  // 2^64 mod n
    std::uint64_t x = next();
    while (x < biased) x = next();
    return x % n;
  }

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;
  std::uint64_t key_, counter_ = 0;
};

// The hash of a text (FNV-1a of Fowler, Noll and Vo, mixed so that all bits count). It decides to which part
// of a generated corpus the text belongs.
inline std::uint64_t text_hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return SplitMix64::mix(h);
}
enum class Part { Train, Valid, Test };

// Fisher and Yates, in Durstenfeld's form: every order is equally likely.
template <class T>
void shuffle(std::vector<T>& items, SplitMix64& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random.below(i)]);
  }
}

}  // namespace glim
