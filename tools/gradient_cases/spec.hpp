// One op on one set of inputs.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/ops.hpp"
#include "tools/gradient_cases/op_specs.hpp"

namespace glim::specs {

using Vars = std::vector<Var>;
using Draw = std::function<std::vector<Tensor>(std::uint64_t seed)>;  // of inputs, float64

struct Spec {
  std::string op;    // as on the tape, or the name of the composition
  std::string name;  // of this use of it
  Draw inputs;
  std::function<Var(const Vars&)> f;  // any floating dtype
  bool kinks = false;                 // some derivatives are undecidable
  int expand_axis = 0;  // inputs may be constant along this axis; -1: along none (ties)
  bool fused = false;   // has an explicit composition: UseForm chooses

  Spec& with_kinks() { return kinks = true, *this; }
  Spec& with_expanded(int axis) { return expand_axis = axis, *this; }
  Spec& with_explicit() { return fused = true, *this; }
};

// A use with no elements: it must run and give these shapes.
struct EmptySpec {
  std::string op, name;
  std::vector<Shape> inputs;
  Shape output;
  std::function<Var(const Vars&)> f;
};

// Inputs uniform in [low, high), independent of each other.
inline Draw uniform_in(double low, double high, std::vector<Shape> shapes) {
  return [=](std::uint64_t seed) {
    std::vector<Tensor> list;
    for (std::size_t k = 0; k < shapes.size(); ++k)
      list.push_back(uniform(shapes[k], low, high, {seed, 100 + k}, DType::Float64));
    return list;
  };
}
// The values listed, as one vector.
inline Draw exactly(std::initializer_list<double> v) {
  return [x = tensor(v, DType::Float64)](std::uint64_t) { return std::vector<Tensor>{x.clone()}; };
}

// f of its inputs, or of all of them as a list.
template <class F>
std::function<Var(const Vars&)> on_vars(F f) {
  if constexpr (std::is_invocable_v<F, const Vars&>)
    return f;
  else if constexpr (std::is_invocable_v<F, const Var&>)
    return [f](const Vars& x) -> Var { return f(x[0]); };
  else if constexpr (std::is_invocable_v<F, const Var&, const Var&>)
    return [f](const Vars& x) -> Var { return f(x[0], x[1]); };
  else
    return [f](const Vars& x) -> Var { return f(x[0], x[1], x[2]); };
}

// f plus a term of every input. Of a function that is constant, zeros are the right gradient, and alone they decide
// nothing (GradcheckReport::undecided).
template <class F>
std::function<Var(const Vars&)> beside_inputs(F f) {
  return [f = on_vars(f)](const Vars& x) {
    Var y = f(x);
    for (const Var& v : x) y = y + 0.25 * sum(v);
    return y;
  };
}
// f², of a function that only moves elements: its gradient depends on where they were.
template <class F>
std::function<Var(const Vars&)> squared(F f) {
  return [f = on_vars(f)](const Vars& x) {
    Var y = f(x);
    return mul(y, y);
  };
}

struct Family {
  std::string name;
  std::vector<Spec> specs = {};
  std::vector<EmptySpec> empty = {};

  // With inputs of these shapes, uniform in ±2.
  template <class F>
  Spec& add(std::string op, std::string use, std::vector<Shape> shapes, F f) {
    return add_drawn(op, use, uniform_in(-2, 2, shapes), f);
  }
  template <class F>
  Spec& add_drawn(std::string op, std::string use, Draw inputs, F f) {
    return specs.emplace_back(Spec{op, use, inputs, on_vars(f)});
  }
  // With no elements.
  template <class F>
  void add_empty(std::string op, std::string use, std::vector<Shape> shapes, Shape output, F f) {
    empty.push_back({op, use, shapes, output, on_vars(f)});
  }
};

// Multiplies a family by its variations.
void append_cases(const Family& family, DType dtype, std::vector<Case>& cases);

// One for a group of files of autograd/ops.
Family arithmetic();
Family functions();
Family shape();
Family reduce();
Family cumulative();
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
