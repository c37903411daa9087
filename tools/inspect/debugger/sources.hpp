// Sources of the library, embedded when the program is built (sources.py): text for the lines that nodes know.
#pragma once

#include <string_view>
#include <vector>

#include "tensor/where.hpp"

namespace glim::step {

struct Source {
  std::string_view name, text;  // "attention/multihead.cpp", the whole file
};
const std::vector<Source>& sources();  // of ops, layers, models and their losses

// The lines of the file; none for a file that is not embedded.
std::vector<std::string_view> source_lines(const Where& where);

}  // namespace glim::step
