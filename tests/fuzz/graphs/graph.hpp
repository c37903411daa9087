// A graph of differentiable ops as data: it can be run, made smaller and printed as a program.
//
// It has leaves, each perhaps a view of something larger, and steps, each an op or a module on values before it. A
// value may be read any number of times. The output is all values that nobody reads, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.hpp"
#include "nn/module.hpp"

namespace glim::fuzz {

using Vars = std::vector<Var>;

struct GraphLeaf {
  Var var;
  std::function<Tensor(DType)> make;
  std::string code;  // of its value
};

struct Step {
  using Run = std::function<Var(Module* m, const Vars& in)>;
  std::string op;           // its name in the catalogue
  std::vector<int> inputs;  // i: step i; -1 - i: leaf i
  std::string code;         // "softmax($0, 1)": $0, $1 are the inputs, $m the module
  Run run;
  std::string module_code;  // "Linear $m(4, 3)"
  std::shared_ptr<Module> module;
  std::uint64_t module_key = 0;  // of its parameters' values
};

struct Graph {
  std::vector<GraphLeaf> leaves;
  std::vector<Step> steps;
  bool kinks = false;  // some op of it is not differentiable everywhere

  // `each`, if given, runs a step in place of the step's own function. Every run draws the same random numbers.
  using RunStep = std::function<Var(const Step&, const Vars& in)>;
  Var run(const RunStep& each = {}) const;
  NamedParameters parameters()
      const;                   // leaves and parameters of modules, by their names in the program
  void to(DType dtype) const;  // with the same values
  std::vector<int> unread() const;
  std::string program(DType dtype) const;  // in C++; it checks the gradients
};

// Values other than those that modules begin with: ones and zeros hide mistakes.
void draw_parameters(Module& m, std::uint64_t key);

std::string list(const Shape& s);  // "2, 3"

}  // namespace glim::fuzz
