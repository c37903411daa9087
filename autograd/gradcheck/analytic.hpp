// analytic: what backward gives; and the function to check, in the form that all of the checker takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/restored.hpp"
#include "autograd/var.hpp"
#include "tensor/random.hpp"

namespace glim::detail {

// A function of leaves, whose values the checker sets.
struct Subject {
  std::vector<std::string> names;
  std::vector<Var> leaves;
  std::vector<Tensor> values;  // leaves at the start, views included
  // Runs the function on the current tape. `recorded`: derivatives of the result will be asked for. All outputs are
  // floating.
  std::function<std::vector<Var>(bool recorded)> run;

  void add(std::string name, const Var& leaf);
  bool checked(std::size_t input) const;
  void put(const std::vector<Tensor>& point) const;  // into the leaves
};

// (x, dy) ↦ Jᵀdy: backward itself as the function to check.
Subject gradient_of(const Subject& f, std::uint64_t seed);

// Properties of the ops within f, which a tape shows.
struct Inside {
  double largest = 0;           // finite value: what f loses by rounding may be its last digit
  bool differentiates = false;  // f itself runs a backward, and needs a tape
};

// The values of all outputs at `point`, one after the other, computed on a tape. Random numbers are the same each time.
std::vector<double> evaluate(const Subject& subject, const std::vector<Tensor>& point,
                             Inside* inside = nullptr);
// Values as evaluate gives them, computed without a tape. If f refuses that by a StateError, it gets a tape.
std::vector<double> evaluate_unrecorded(const Subject& subject, const std::vector<Tensor>& point);

// Elements of magnitude in [½, 3/2) and of either sign: nothing cancels, nothing is overlooked.
Tensor random_like(const Tensor& y, RandomKey key);
Shape unravel(const Shape& shape, Index i);  // the position of element i, in row-major order
std::vector<Var> floating_only(std::vector<Var> outputs);
std::vector<double> flatten(const std::vector<Var>& outputs);
bool same_doubles(const std::vector<double>& a, const std::vector<double>& b);  // to the bit

struct Analytic {
  std::vector<double> y, u;                  // the outputs, and random weights of them
  std::vector<std::vector<double>> along_u;  // Jᵀu by input; empty where it is not checked
  std::vector<std::vector<double>> rows;     // J by input, row-major
  std::vector<Shape> output_shapes;
};

// `rows`: all of J too, by a backward for each output. `forward_elsewhere`: another forward, with every element moved,
// comes between forward and backward.
Analytic analytic(const Subject& subject, std::uint64_t seed, bool rows = false,
                  bool forward_elsewhere = false);

}  // namespace glim::detail
