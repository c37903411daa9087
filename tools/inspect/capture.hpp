// A whole forward and backward pass of one example, kept: every value, every gradient, and what each op sent
// to each of its inputs.
//
// A node's gradient is the sum of the flows into it, unless it was changed, so that a junction can be split by branch
// (junctions.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autograd/observe/walk.hpp"
#include "tools/derive/sheet.hpp"
#include "tools/inspect/roles.hpp"
#include "tools/kinds/example.hpp"

namespace glim {

struct CapturedNode {
  int number = 0;
  std::string name;   // its path; "PATH#NUMBER" where several nodes have this path
  std::string path;   // Tape::path
  std::string scope;  // the module's path
  std::string label;  // the name that its module gave the value: "probs"
  std::string op;     // "leaf" for a parameter
  std::string where;  // the line of the call; empty for a leaf
  std::vector<int> inputs;
  std::vector<int> saved;  // what backward reads: numbers of inputs, Op::kOutput
  Tensor value, gradient;  // no gradient: backward did not reach it
  Tensor keep;             // of an attention's softmax: keep_of()
  double gradient_norm = 0;
  int turn = -1;  // in backward, from 0
  std::vector<Flow> flows;
};

struct Capture {
  double loss = 0;
  Roles roles;  // of the model's modules
  std::vector<CapturedNode> nodes;
  derive::Sheet lines;                      // the pass written out
  std::vector<int> walk;                    // node numbers in backward order
  std::vector<std::vector<int>> consumers;  // of each node: the ops that read it

  const CapturedNode& operator[](int node) const { return nodes[static_cast<std::size_t>(node)]; }
  // The gradient that `from` sent to `to`, all inputs together; undefined if none.
  Tensor flow(int from, int to) const;
  // The first node of this path; -1.
  int find(const std::string& path) const;
};

Capture capture(Example& example);

// Values and gradients by name, "NAME" and "NAME.grad"; of leaves the gradients alone unless their values count, too.
std::map<std::string, Tensor> tensors_of(const Capture& capture, bool leaves = true);

}  // namespace glim
