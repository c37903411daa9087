// Text with values in it. This folder is part of the library, which has no fmt.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace glim::derive {

// The shortest text that reads back as x, or so many digits.
inline std::string shown(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}
inline std::string shown(double x, int digits) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x, std::chars_format::general, digits).ptr};
}
inline std::string shown(std::string_view text) { return std::string(text); }
template <class Whole>
requires std::is_integral_v<Whole> std::string shown(Whole n) { return std::to_string(n); }

// fill_in("{} = {}", "x", 2): each {} is the next value. Further values are left out.
template <class... Values>
std::string fill_in(std::string_view form, const Values&... values) {
  std::string text;
  auto next = [&](std::string value) {
    const std::size_t position = form.find("{}");
    if (position == std::string_view::npos) return;
    text.append(form.substr(0, position)).append(value);
    form.remove_prefix(position + 2);
  };
  (next(shown(values)), ...);
  return text.append(form);
}

}  // namespace glim::derive
