// Adding a gradient to a node's total or to a leaf: in place if nobody else sees the memory, else into a copy.
#pragma once

#include "autograd/grads.hpp"

namespace glim {

// An undefined total becomes the gradient; with create_graph the sum is an op on the tape.
void add_to(Var& total, Var gradient, bool create_graph);
// An undefined total is 0, of this shape and dtype.
void add_to(Var& total, const AddTo& part, const Shape& shape, DType dtype);
void add_to(Leaf& leaf, Var gradient);

}  // namespace glim
