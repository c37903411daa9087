// How an op is written, in each language: a line of notation.txt.
#pragma once

#include <string>
#include <string_view>

namespace glim::derive {

enum Language { kText, kNumpy, kCpp };

// "LEVEL|TEMPLATE"; empty for an op without primitives.
std::string_view notation(std::string_view op, Language language);

// A part of program.py.
std::string program_part(std::string_view name);

}  // namespace glim::derive
