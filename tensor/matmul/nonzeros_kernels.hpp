// Elements that have a bit set, without the others (tensor/matmul/nonzeros.hpp). AVX-512 gathers and spreads a
// vector at a time; elsewhere a loop without branches does, as zeros come at random.
#pragma once

#include "tensor/simd/kernels.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

template <class T>
struct AsBits;
template <>
struct AsBits<float> {
  typedef std::uint32_t U;
};
template <>
struct AsBits<double> {
  typedef std::uint64_t U;
};

template <class T>
GLIM_INLINE typename AsBits<T>::U bits_of(const T* p) {
  typename AsBits<T>::U b;
  __builtin_memcpy(&b, p, sizeof b);
  return b;
}

template <class T>
Index mark_nonzeros(Index n, const T* x, std::uint8_t* bits) {
  Index count = 0, i = 0;
#if defined(__AVX512F__)
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    __m512i v = (__m512i)load<T>(x + i);
    unsigned set = sizeof(T) == 4 ? _mm512_test_epi32_mask(v, v) : _mm512_test_epi64_mask(v, v);
    __builtin_memcpy(bits + i / 8, &set, kLanes<T> / 8);
    count += __builtin_popcount(set);
  }
#endif
  for (; i < n; i += 8) {
    unsigned set = 0;
    for (Index j = 0; j < 8 && i + j < n; ++j) {
      unsigned one = bits_of(x + i + j) != 0;
      set |= one << j;
      count += one;
    }
    bits[i / 8] = static_cast<std::uint8_t>(set);
  }
  return count;
}

// Goes through n elements of which `count` are set, k of them before element i. With AVX-512 a vector
// at a time: lanes(i, k, set, first), `set` its bits and `first` as many from the lowest on. Elsewhere
// step(i, k, bit), which may read or write value k whether or not the bit is set: so the last values
// are left to one(i, k, bit).
template <class T, class Lanes, class Step, class One>
GLIM_INLINE void each_place(Index n, const std::uint8_t* bits, Index count, const Lanes& lanes,
                            const Step& step, const One& one) {
  Index i = 0, k = 0;
#if defined(__AVX512F__)
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    unsigned set = 0;
    __builtin_memcpy(&set, bits + i / 8, kLanes<T> / 8);
    Index more = __builtin_popcount(set);
    lanes(i, k, set, (1u << more) - 1);
    k += more;
  }
#else
  (void)lanes;
#endif
  for (; i + 8 <= n && k + 8 <= count; i += 8)
    for (Index j = 0; j < 8; ++j) {
      int bit = bits[i / 8] >> j & 1;
      step(i + j, k, bit);
      k += bit;
    }
  for (; i < n; ++i) {
    int bit = bits[i / 8] >> i % 8 & 1;
    one(i, k, bit);
    k += bit;
  }
}

template <class T>
void gather_nonzeros(Index n, const T* x, const std::uint8_t* bits, Index count, T* values) {
  auto lanes = [&](Index i, Index k, unsigned set, unsigned first) __attribute__((always_inline)) {
#if defined(__AVX512F__)
    // Compressed in a register: to memory, the instruction takes 100 cycles and more on Zen 4.
    Vec<T> v = load<T>(x + i);
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_ps(values + k, static_cast<__mmask16>(first),
                            _mm512_maskz_compress_ps(static_cast<__mmask16>(set), (__m512)v));
    else
      _mm512_mask_storeu_pd(values + k, static_cast<__mmask8>(first),
                            _mm512_maskz_compress_pd(static_cast<__mmask8>(set), (__m512d)v));
#else
    (void)i, (void)k, (void)set, (void)first;
#endif
  };
  each_place<T>(
      n, bits, count,
      lanes, [&](Index i, Index k, int) __attribute__((always_inline)) { values[k] = x[i]; },
      [&](Index i, Index k, int bit) __attribute__((always_inline)) {
        if (bit) values[k] = x[i];
      });
}

template <class T>
void spread_nonzeros(Index n, const std::uint8_t* bits, Index count, const T* values, T* x) {
  auto lanes = [&](Index i, Index k, unsigned set, unsigned first) __attribute__((always_inline)) {
#if defined(__AVX512F__)
    Vec<T> v;
    if constexpr (sizeof(T) == 4)
      v = (Vec<T>)_mm512_maskz_expand_ps(
          static_cast<__mmask16>(set),
          _mm512_maskz_loadu_ps(static_cast<__mmask16>(first), values + k));
    else
      v = (Vec<T>)_mm512_maskz_expand_pd(
          static_cast<__mmask8>(set),
          _mm512_maskz_loadu_pd(static_cast<__mmask8>(first), values + k));
    store<T>(x + i, v);
#else
    (void)i, (void)k, (void)set, (void)first;
#endif
  };
  each_place<T>(
      n, bits, count, lanes,
      [&](Index i, Index k, int bit) __attribute__((always_inline)) {
        auto v = bits_of(values + k) & -static_cast<typename AsBits<T>::U>(bit);
        __builtin_memcpy(x + i, &v, sizeof v);
      },
      [&](Index i, Index k, int bit)
          __attribute__((always_inline)) { x[i] = bit ? values[k] : T(0); });
}

}  // namespace glim::GLIM_ISA
