// Sums, differences and products that are defined for every pair of numbers: int64 wraps around
// modulo 2^64, as NumPy's does, where C++ leaves the overflow undefined.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

namespace glim {

template <class Operation>
struct Wrapping {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(
          Operation{}(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
    else
      return Operation{}(a, b);
  }
};
inline constexpr Wrapping<std::plus<>> wrap_add{};
inline constexpr Wrapping<std::minus<>> wrap_sub{};
inline constexpr Wrapping<std::multiplies<>> wrap_mul{};

}  // namespace glim
