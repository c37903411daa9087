// Hashes that identify a run's data and its weights: FNV-1a (Fowler, Noll & Vo).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "autograd/var.hpp"

namespace glim {

class Fingerprint {
 public:
  void mix(std::int64_t v) { hash_ = (hash_ ^ static_cast<std::uint64_t>(v)) * 0x100000001b3u; }
  template <class Range>
  void mix_all(const Range& values, std::int64_t end = -1) {
    for (auto v : values) mix(v);
    mix(end);
  }
  std::uint64_t value() const { return hash_; }
  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_));
    return digits;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

// The fingerprint of pairs of tokens.
template <class Pairs>
std::string fingerprint_of(const Pairs& pairs) {
  Fingerprint f;
  for (const auto& p : pairs) {
    f.mix_all(p.source);
    f.mix_all(p.target, -2);
  }
  return f.text();
}

// The bits of a model's weights in sixteen digits. Two runs that print the same are the same
// (tensor/numerics.md): a student's and the lecturer's, on any machine. Over the words of the parameters, in the order
// of their registration; float64 has two words an element.
std::string weights_hash(const NamedParameters& parameters);

}  // namespace glim
