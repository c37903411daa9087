// The equations of an op, as data of the op: `glim step`, the pages and the documentation print these.
//
//   formula("matmul")->value          "y = a b"
//                    ->gradients      "da = dy bᵀ", "db = aᵀ dy"      by input, d for ∂L/∂
//
// An op of any number of inputs (concatenate, recomputed) states the gradient of one of them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

struct Formula {
  std::string_view op, value;
  std::array<std::string_view, 4> gradients{};
  std::string_view source{};  // paper and section, where the op has one

  // "x" for input 0 of an op with "dx = ..."; "input K" beyond the equations.
  std::string input_name(std::size_t input) const;
};

bool register_formula(const Formula& formula);
// By the op's name on the tape; null for a name that is no op's.
const Formula* formula(std::string_view op);
// The names of all ops that the program can record, sorted.
std::vector<std::string_view> registered_ops();

}  // namespace glim
