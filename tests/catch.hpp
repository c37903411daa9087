// Catch2 under one name: 2.13 (Debian 12) has one header, 3.x (Debian 13) several.
#pragma once

#include <string_view>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
