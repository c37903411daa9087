// Dropout from counters: Philox4x32-10 (tensor/philox.hpp) on as many blocks at once as a vector has
// 64-bit lanes.
#pragma once

#include "tensor/philox.hpp"
#include "tensor/simd/kernels.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

typedef std::uint32_t Words __attribute__((vector_size(kVectorBytes)));
typedef std::uint64_t Pairs __attribute__((vector_size(kVectorBytes)));
inline constexpr int kBlocks = kVectorBytes / 8;  // each of four words

// Words of elements 4·block ... 4·(block + kBlocks) - 1, in order.
GLIM_INLINE void draw(const DropSpec& drop, std::uint64_t block, Words out[2]) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  Pairs lanes{};
  for (int i = 0; i < kBlocks; ++i) lanes[i] = static_cast<std::uint64_t>(i);
  auto product = [](Pairs a, std::uint64_t b) __attribute__((always_inline)) {
#if defined(__AVX512F__)
    return (Pairs)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(static_cast<long long>(b)));
#elif defined(__AVX2__)
    return (Pairs)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(static_cast<long long>(b)));
#else
    return (a & kLow) * b;
#endif
  };
  auto [w] = philox_words(drop.seed, drop.stream, lanes + block, product);
  Pairs first = (w[0] & kLow) | w[1] << 32,
        second = (w[2] & kLow) | w[3] << 32;  // words 0 1 and 2 3 of each block
  out[0] = (Words)shuffled<0>(first, second);
  out[1] = (Words)shuffled<kBlocks / 2>(first, second);
}

// The decisions on elements first ... first + n of the stream: some(i, dropped) for a vector from
// element i on, or one(i, dropped) for a single one. `drop` is a copy: its keys stay in registers.
template <class T, class Some, class One>
GLIM_INLINE void each_decision(const DropSpec drop, Index first, Index n, const Some& some,
                               const One& one) {
  constexpr Index kChunk = 4 * kBlocks;
  Index i = 0;
  while (i < n) {
    Index element = first + i, chunk = element / kChunk * kChunk;
    Words words[2];
    draw(drop, static_cast<std::uint64_t>(chunk) / 4, words);
    if (element == chunk && i + kChunk <= n) {
      if constexpr (sizeof(T) == 4) {
        for (Index k = 0; k < 2; ++k, i += kLanes<T>)
          some(i, (IntVec<T>)(words[k] < drop.threshold));
        continue;
      }
    }
    alignas(kVectorBytes) std::uint32_t word[kChunk];
    __builtin_memcpy(word, words, sizeof word);
    for (Index k = element - chunk; k < kChunk && i < n; ++k, ++i) one(i, word[k] < drop.threshold);
  }
}

template <class T>
void dropout(const DropSpec& drop, Index first, Index n, const T* x, const T* addend, T* y) {
  const T scale = static_cast<T>(drop.scale);
  each_decision<T>(
      drop, first, n,
      [&](Index i, IntVec<T> dropped) __attribute__((always_inline)) {
        Vec<T> v = dropped ? Vec<T>{} : load<T>(x + i) * scale;
        store<T>(y + i, addend ? load<T>(addend + i) + v : v);
      },
      [&](Index i, bool dropped) __attribute__((always_inline)) {
        T v = dropped ? T(0) : x[i] * scale;
        y[i] = addend ? addend[i] + v : v;
      });
}

}  // namespace glim::GLIM_ISA
