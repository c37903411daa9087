// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", table 2): the four words of a
// block of a stream, by ten rounds over its number.
//
// A word is the low half of a `Lanes`, which is a std::uint64_t for one block or a vector of them for a block in
// each lane. The high halves of what is returned are arbitrary.
#pragma once

#include <cstdint>

namespace glim {

template <class Lanes>
struct PhiloxWords {
  Lanes word[4];
};

// product(a, b) = (the low half of a)·b
template <class Lanes, class Product>
[[gnu::always_inline]] inline PhiloxWords<Lanes> philox_words(std::uint64_t seed,
                                                              std::uint64_t stream, Lanes block,
                                                              const Product& product) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  Lanes c0 = block & kLow, c1 = block >> 32;
  Lanes c2 = Lanes{} + (stream & kLow), c3 = Lanes{} + (stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    Lanes p0 = product(c0, std::uint64_t{0xD2511F53}), p1 = product(c2, std::uint64_t{0xCD9E8D57});
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c1 = p1;
    c3 = p0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace glim
