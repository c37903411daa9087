// The parts of random graphs: ops (ops.cpp) and modules (modules.cpp), each an expression that is run and printed.
//
//   {"softmax", 1, softmax(x, c.axis)}
//
// x, y, z, w are the operands, c what was drawn for this step. The first `free` operands are any values of the graph;
// the shapes of the rest follow from them.
#pragma once

#include "tests/fuzz/graphs/graph.hpp"

namespace glim::fuzz {

// Drawn for a step whose first operand has shape s; sizes are small.
struct Constants {
  Index axis = 0, other = 0;          // of s
  Index start = 0, length = 0;        // a part of that axis
  Index size = 1, width = 1, by = 1;  // 1 to 4; 1 to 4; 1 or 2
  Index last = 0, second = 0;         // extents of s: of the last axis, of axis 1
  Index heads = 1;                    // 1 or 2
  bool flag = false;
  double number = 0;
  RandomKey key;
  Shape wider, smaller;  // s with axes repeated, and with axes reduced to 1
};
using Shapes = std::vector<Shape>;

struct Kind {
  const char* name;
  int free;
  // The shapes of the operands that are not free. Throws ShapeError where there are none for s.
  Shapes (*fitting)(const Shape& s, const Constants& c);
  const char* code;
  Var (*run)(const Constants& c, Module* m, const Vars& in);
  bool kinks = false;
  const char* module_code = nullptr;
  std::shared_ptr<Module> (*make)(const Constants& c) = nullptr;
};

std::vector<Kind> op_kinds();
std::vector<Kind> module_kinds();
const std::vector<Kind>& kinds();  // all of them

inline Index extent(const Shape& s, int axis) {  // ShapeError outside it, from the end if negative
  return s[normalize_axis(axis, s.rank(), "graph")];
}
inline Shape with_last(Shape s, Index n) {
  s[normalize_axis(-1, s.rank(), "graph")] = n;
  return s;
}

#define GLIM_OPERANDS                                                    \
  [[maybe_unused]] const Var &x = in[0], &y = in[in.size() > 1 ? 1 : 0], \
                             &z = in[in.size() > 2 ? 2 : 0], &w = in[in.size() > 3 ? 3 : 0]

}  // namespace glim::fuzz
