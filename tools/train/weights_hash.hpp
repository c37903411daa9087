// The bits of a model's weights in sixteen digits. Two runs that print the same are the same
// (tensor/numerics.md): a student's and the lecturer's, on any machine.
//
// FNV-1a over the words of the parameters, in the order of their registration; float64 has two words an element.
#pragma once

#include <string>

#include "autograd/var.hpp"

namespace glim {

std::string weights_hash(const NamedParameters& parameters);

}  // namespace glim
