// Parts of C++20 that Glim uses and the C++ library of Debian 12's Emscripten lacks. Read before every source
// of the module; namespace std is not ours to add to, but there is no other place where the sources look.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& x) {
  return __builtin_bit_cast(To, x);
}

template <class T>
requires is_floating_point_v<T> to_chars_result to_chars(char* first, char* last, T x,
                                                         chars_format format, int precision) {
  const char* how = format == chars_format::scientific ? "%.*e"
                    : format == chars_format::fixed    ? "%.*f"
                                                       : "%.*g";
  return {first + snprintf(first, size_t(last - first), how, precision, double(x)), errc()};
}

// The shortest digits that read back as x.
template <class T>
requires is_floating_point_v<T> to_chars_result
to_chars(char* first, char* last, T x, chars_format format = chars_format::general) {
  to_chars_result r{};
  for (int digits = 1; digits <= 17; ++digits) {
    r = to_chars(first, last, x, format, format == chars_format::scientific ? digits - 1 : digits);
    if (x != x || strtod(first, nullptr) == double(x) ||
        (sizeof(T) == 4 && strtof(first, nullptr) == float(x)))
      break;
  }
  return r;
}

template <class T>
requires is_floating_point_v<T> from_chars_result from_chars(const char* first, const char* last,
                                                             T& x) {
  const string text(first, last);  // ends with a zero
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  x = static_cast<T>(value);
  return {first + (end - text.c_str()), errc()};
}

namespace ranges {

#define GLIM_RANGE(NAME)                                                 \
  template <class R, class... A>                                         \
  decltype(auto) NAME(R&& r, A&&... a) {                                 \
    return std::NAME(std::begin(r), std::end(r), std::forward<A>(a)...); \
  }
GLIM_RANGE(all_of)
GLIM_RANGE(any_of)
GLIM_RANGE(copy)
GLIM_RANGE(count)
GLIM_RANGE(count_if)
GLIM_RANGE(find)
GLIM_RANGE(find_if)
GLIM_RANGE(none_of)
GLIM_RANGE(replace)
GLIM_RANGE(reverse)
GLIM_RANGE(sort)
#undef GLIM_RANGE

template <class R, class Less = std::less<>, class Of = std::identity>
void stable_sort(R&& r, Less less = {}, Of projection = {}) {
  std::stable_sort(std::begin(r), std::end(r), [&](const auto& a, const auto& b) {
    return std::invoke(less, std::invoke(projection, a), std::invoke(projection, b));
  });
}

}  // namespace ranges
}  // namespace std
