// Elements that have a bit set, without the others (tensor/nonzeros.hpp). AVX-512 gathers and spreads a
// vector at a time; elsewhere a loop without branches does, as zeros come at random.
#pragma once

#include "tensor/kernels_rows.hpp"
#include "tensor/simd.hpp"

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

#if defined(__AVX512F__)
// The bits of the lanes of one vector, from element i on (a multiple of their number).
template <class T>
GLIM_INLINE unsigned lanes_set(const std::uint8_t* bits, Index i) {
  if constexpr (sizeof(T) == 8) return bits[i / 8];
  std::uint16_t set;
  __builtin_memcpy(&set, bits + i / 8, 2);
  return set;
}
#endif

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

template <class T>
void gather_nonzeros(Index n, const T* x, const std::uint8_t* bits, Index count, T* values) {
  Index i = 0, k = 0;
#if defined(__AVX512F__)
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    unsigned set = lanes_set<T>(bits, i);
    Index more = __builtin_popcount(set);
    // Compressed in a register: to memory, the instruction takes 100 cycles and more on Zen 4.
    if constexpr (sizeof(T) == 4) {
      auto v = _mm512_maskz_compress_ps(static_cast<__mmask16>(set), (__m512)load<T>(x + i));
      _mm512_mask_storeu_ps(values + k, static_cast<__mmask16>((1u << more) - 1), v);
    } else {
      auto v = _mm512_maskz_compress_pd(static_cast<__mmask8>(set), (__m512d)load<T>(x + i));
      _mm512_mask_storeu_pd(values + k, static_cast<__mmask8>((1u << more) - 1), v);
    }
    k += more;
  }
#endif
  for (; i + 8 <= n && k + 8 <= count; i += 8)
    for (Index j = 0; j < 8; ++j) {
      values[k] = x[i + j];
      k += bits[i / 8] >> j & 1;
    }
  for (; i < n; ++i)
    if (bits[i / 8] >> i % 8 & 1) values[k++] = x[i];
}

template <class T>
void spread_nonzeros(Index n, const std::uint8_t* bits, Index count, const T* values, T* x) {
  Index i = 0, k = 0;
#if defined(__AVX512F__)
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    unsigned set = lanes_set<T>(bits, i);
    Index more = __builtin_popcount(set);
    if constexpr (sizeof(T) == 4) {
      auto v = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << more) - 1), values + k);
      store<T>(x + i, (Vec<T>)_mm512_maskz_expand_ps(static_cast<__mmask16>(set), v));
    } else {
      auto v = _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << more) - 1), values + k);
      store<T>(x + i, (Vec<T>)_mm512_maskz_expand_pd(static_cast<__mmask8>(set), v));
    }
    k += more;
  }
#endif
  for (; i + 8 <= n && k + 8 <= count; i += 8)
    for (Index j = 0; j < 8; ++j) {
      typename AsBits<T>::U one = bits[i / 8] >> j & 1, v = bits_of(values + k) & -one;
      __builtin_memcpy(x + i + j, &v, sizeof v);
      k += static_cast<Index>(one);
    }
  for (; i < n; ++i) x[i] = bits[i / 8] >> i % 8 & 1 ? values[k++] : T(0);
}

}  // namespace glim::GLIM_ISA
