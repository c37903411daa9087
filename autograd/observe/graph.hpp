// A tape as a graph in Graphviz's language; before backward or after it.
//
//   std::ofstream("t.dot") << to_dot(tape);      dot -Tsvg t.dot > t.svg
#pragma once

#include <string>

#include "autograd/tape.hpp"

namespace glim {

// Leaves are ellipses, ops boxes (dashed when used up by backward), scopes clusters within each other. A leaf
// is in the scope that its name starts with.
std::string to_dot(const Tape& tape);

}  // namespace glim
