// A text that is one number and nothing else: "3", "-1.5e3".
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace glim {

template <class T>
std::optional<T> number_in(std::string_view text) {
  T x{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return x;
}

}  // namespace glim
