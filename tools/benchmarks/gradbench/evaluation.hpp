// Parts that all evaluations of GradBench share (github.com/gradbench/gradbench; README.md here).
//
// An evaluation is a file NAME.cpp with a list of functions. main.cpp speaks the protocol and times them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autograd/ops.hpp"

namespace glim::gradbench {

using Json = nlohmann::json;
using Vars = std::vector<Var>;
using Tensors = std::vector<Tensor>;

// One function of an evaluation. `prepare` reads the input and returns what is timed; `write` makes the
// output of its result.
using Write = std::function<Json(const Tensors& result, const Json& input)>;
struct TimedFunction {
  std::string name;
  std::function<std::function<Tensors()>(const Json& input)> prepare;
  Write write;
};
using Functions = std::vector<TimedFunction>;

// y(x), a number, and the leaves x that it is differentiated by.
struct Problem {
  Vars x;
  std::function<Var()> y;
};

// Nested lists of numbers, as float64.
Tensor tensor_of(const Json& lists);
Var leaf_of(const Json& lists);
Json lists_of(const Tensor& x);
Json first(const Tensors& result, const Json&);  // lists_of the first

// y, computed without a tape, and its gradients, ∂y/∂x for each x.
using Read = std::function<Problem(const Json& input)>;
TimedFunction value(const std::string& name, const Read& read);
TimedFunction gradient(const std::string& name, const Read& read, const Write& write = first);

// Forward mode: J v for each v, J = ∂y/∂x, as jvp gives it (autograd/products.hpp), with one recorded Jᵀu for all.
Vars forward_products(Tape& tape, const Var& y, const Var& x, const Vars& vs,
                      bool create_graph = false);

// The evaluations, each with its functions in the file of its name.
#define GLIM_GRADBENCH(F) \
  F(hello) F(lse) F(gmm) F(kmeans) F(llsq) F(det) F(lstm) F(ode) F(ba) F(ht) F(particle) F(saddle)
#define GLIM_DECLARE(name) Functions name();
GLIM_GRADBENCH(GLIM_DECLARE)
#undef GLIM_DECLARE

}  // namespace glim::gradbench
