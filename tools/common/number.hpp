// Numbers as texts.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace glim {

// The value of a text that is one number and nothing else: "3", "-1.5e3".
template <class T>
std::optional<T> number_in(std::string_view text) {
  T x{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return x;
}

// Four digits, and whole from 1,000 to a million: 0.01235, 16384, 1.235e+07.
inline std::string four_digits(double x) {
  if (std::isnan(x)) return "nan";
  const bool whole = std::abs(x) >= 1000 && std::abs(x) < 999999.5;
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x,
                              whole ? std::chars_format::fixed : std::chars_format::general,
                              whole ? 0 : 4)
                    .ptr};
}

}  // namespace glim
