// A hash that identifies the training data: FNV-1a (Fowler, Noll & Vo) over token
// numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

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

}  // namespace glim
