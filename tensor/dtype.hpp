// Element types: float32 to train in, float64 so that gradient checks mean something, int64 for
// indices, bool for masks. Types never mix silently: convert with Tensor::to.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace glim {

enum class DType : std::uint8_t { Float32, Float64, Int64, Bool };

constexpr std::string_view name_of(DType t) {
  constexpr std::string_view kNames[] = {"float32", "float64", "int64", "bool"};
  return kNames[static_cast<int>(t)];
}

constexpr bool is_floating(DType t) { return t == DType::Float32 || t == DType::Float64; }

template <class T>
constexpr DType no_dtype() {
  static_assert(sizeof(T) == 0,
                "elements are float, double, std::int64_t or bool: of a std::vector<int> make a "
                "std::vector<std::int64_t>");
  return {};
}
template <class T>
inline constexpr auto dtype_of = no_dtype<T>();
template <>
inline constexpr auto dtype_of<float> = DType::Float32;
template <>
inline constexpr auto dtype_of<double> = DType::Float64;
template <>
inline constexpr auto dtype_of<std::int64_t> = DType::Int64;
template <>
inline constexpr auto dtype_of<bool> = DType::Bool;

// v as another dtype: bool from v != 0; int64 truncates, and what it cannot hold (NaN, infinity,
// beyond 2^63) becomes the least integer, as in NumPy.
template <class To, class From>
constexpr To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return v >= From(-0x1p63) && v < From(0x1p63) ? static_cast<To>(v)
                                                  : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(v);
  }
}

// Calls f.template operator()<T>() with the C++ type of `t`.
template <class F>
constexpr decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::Float32:
      return f.template operator()<float>();
    case DType::Float64:
      return f.template operator()<double>();
    case DType::Int64:
      return f.template operator()<std::int64_t>();
    case DType::Bool:
      break;
  }
  return f.template operator()<bool>();
}
// visit_dtype for a floating dtype, which the caller has checked.
template <class F>
decltype(auto) visit_floating(DType t, F&& f) {
  return t == DType::Float32 ? f.template operator()<float>() : f.template operator()<double>();
}

constexpr std::size_t size_of(DType t) {
  return visit_dtype(t, []<class T>() { return sizeof(T); });
}

}  // namespace glim
