// Row kernels of the tensor room: plain loops over rows in memory, compiled for each instruction set
// (tensor/simd/vec.hpp). They know no tensors, check nothing and start no threads. Their callers cut the rows
// into pieces that do not depend on the number of threads.
//
// T is float or double. A row's elements are adjacent; `ld` is the distance between rows.
#pragma once

#include <cstdint>

#include "tensor/simd/dispatch.hpp"
#include "tensor/simd/element_functions.hpp"

namespace glim {

// One draw of dropout per element: word i mod 4 of block i / 4 of the stream (tensor/random.hpp).
// An element is dropped when its word is below `threshold`, else multiplied by `scale`.
struct DropSpec {
  std::uint64_t seed, stream;
  std::uint32_t threshold;
  double scale;
};

#define GLIM_NAME(name, ...) name,
enum class ElementFunction { GLIM_ELEMENT_FUNCTIONS(GLIM_NAME) GLIM_FLOAT64_FUNCTIONS(GLIM_NAME) };
#undef GLIM_NAME

namespace simd {

using Index = std::int64_t;

// y[i] = f(x[i]); y may be x
template <class T>
void function(ElementFunction f, Index n, const T* x, T* y);
// y[i] = x[i]^exponents[i]
template <class T>
void power(Index n, const T* x, const T* exponents, T* y);
// The largest element, -∞ for none; NaN counts for nothing
template <class T>
T largest(Index n, const T* x);
// Σ e^{x - m}, and e^{x - m} in y unless that is null
template <class T>
T sum_of_exponentials(Index n, T m, const T* x, T* y);

// y[r][c] += bias[c] unless null, then max(0, ·) if relu
template <class T>
void add_bias(Index rows, Index n, const T* bias, bool relu, T* y, Index ld);
// y[i] = addend[i] + (dropped(first + i) ? 0 : scale·x[i]); addend may be null, y may be x
template <class T>
void dropout(const DropSpec& drop, Index first, Index n, const T* x, const T* addend, T* y);

}  // namespace simd

}  // namespace glim
