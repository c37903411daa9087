// Random graphs of differentiable ops, as data: what a graph is can be run, made smaller and printed as a program.
//
// A graph has leaves, each perhaps a view of something larger (transposed, every second row, expanded), and steps,
// each an op of values before it; the output is all values that nobody reads, one after the other. Shapes have rank 0 to 4 and extents 0 to 4. A value
// may be read any number of times.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "autograd/ops.hpp"

namespace glim::fuzz {

struct Step {
  std::vector<int> inputs;  // numbers of values: first the leaves, then the steps
  std::string code;         // "softmax($0, 1)": $0, $1 are the inputs
  std::function<Var(const std::vector<Var>&)> run;
};

struct Graph {
  std::vector<Tensor> leaves;
  std::vector<std::string> leaf_code;
  std::vector<Step> steps;

  Var run(const std::vector<Var>& leaves_as_vars) const;
  std::string program() const;       // in C++
  std::vector<int> outputs() const;  // values that nobody reads
};

// One that has finite values, below 100.
Graph random_graph(std::mt19937_64& random, int most_steps);

// What is wrong with its gradients, in one line; empty if nothing is. `deep` asks for the gradient's gradient, too.
std::string check(const Graph& graph, bool deep);

// A smaller graph that is wrong in some way, too: steps after the fault and those it does not need are gone.
Graph reduced(Graph graph, bool deep);

// Puts an op with a wrong gradient among the others: a test of this test.
void plant();

}  // namespace glim::fuzz
