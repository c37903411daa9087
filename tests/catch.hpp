// Catch2 under one name: 2.13 (Debian 12) has one header, 3.x (Debian 13) several.
#pragma once

#include <string>
#include <string_view>

#include "tensor/error.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

namespace glim {

// The text of the E that f throws; "" if it throws none.
template <class E = Error, class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

}  // namespace glim
