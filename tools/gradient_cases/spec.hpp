// One op on one set of inputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.hpp"
#include "tools/gradient_cases/op_specs.hpp"

namespace glim::specs {

using Vars = std::vector<Var>;

struct Spec {
  std::string op;    // as on the tape, or the name of the composition
  std::string name;  // of this use of it
  std::function<std::vector<Tensor>(std::uint64_t seed)> inputs;  // float64
  std::function<Var(const Vars&)> f;                              // any floating dtype
  bool kinks = false;   // some derivatives are undecidable
  int expand_axis = 0;  // inputs may be constant along this axis; -1: along none (ties)
  bool fused = false;   // has an explicit composition: UseForm chooses
};

// A use with no elements: it must run and give these shapes.
struct EmptySpec {
  std::string op, name;
  std::vector<Shape> inputs;
  Shape output;
  std::function<Var(const Vars&)> f;
};

struct Family {
  std::string name;
  std::vector<Spec> specs;
  std::vector<EmptySpec> empty;

  void add(Spec s) { specs.push_back(std::move(s)); }
  void add_empty(EmptySpec s) { empty.push_back(std::move(s)); }
};

// Inputs uniform in [low, high), independent of each other.
inline std::function<std::vector<Tensor>(std::uint64_t)> uniform_in(double low, double high,
                                                                    std::vector<Shape> shapes) {
  return [=](std::uint64_t seed) {
    std::vector<Tensor> list;
    for (std::size_t k = 0; k < shapes.size(); ++k)
      list.push_back(uniform(shapes[k], low, high, {seed, 100 + k}, DType::Float64));
    return list;
  };
}
inline std::function<std::vector<Tensor>(std::uint64_t)> in(std::vector<Shape> shapes) {
  return uniform_in(-2, 2, std::move(shapes));
}
// The values listed, as one vector.
inline std::function<std::vector<Tensor>(std::uint64_t)> exactly(std::initializer_list<double> v) {
  return [x = tensor(v, DType::Float64)](std::uint64_t) { return std::vector<Tensor>{x.clone()}; };
}

// f plus a term of every input. Of a function that is constant, zeros are the right gradient, and alone they decide
// nothing (GradcheckReport::undecided).
inline std::function<Var(const Vars&)> beside_inputs(std::function<Var(const Vars&)> f) {
  return [f = std::move(f)](const Vars& x) {
    Var y = f(x);
    for (const Var& v : x) y = y + 0.25 * sum(v);
    return y;
  };
}

// Multiplies a family by its variations.
void append_cases(const Family& family, DType dtype, std::vector<Case>& cases);

// One for each file of autograd/ops.
Family arithmetic();
Family functions();
Family shape();
Family reduce();
Family softmax_family();
Family products();
Family index();
Family dropout_family();
Family checkpoint_family();
Family transformer_parts();
Family windows();
Family recurrent();
std::vector<Family> families();

}  // namespace glim::specs
