// Checking a function that Glim cannot see into: its value and its gradient are two callbacks, of NumPy, of PyTorch, or
// of a program in another language.
//
//   FunctionReport r = check_function({value, gradient}, {{"x", x}, {"w", w}});
//   if (!r) std::cout << r.text() << "\n";
//
// The callbacks are called by the thread that calls check_function, and by no other. They get copies, so that a callback
// that writes to its arguments spoils nothing else. Their exceptions pass through.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "autograd/gradcheck/gradcheck.hpp"

namespace glim {

using Tensors = std::vector<Tensor>;

struct Callbacks {
  std::function<Tensors(const Tensors& inputs)> value;  // the outputs
  // ∂L/∂x for each input. An undefined Tensor is no gradient, which is right where the derivative is 0. An input of
  // int64 or bool has none, and may be left out. `dy` has a tensor for each output, undefined for one of int64 or bool.
  std::function<Tensors(const Tensors& inputs, const Tensors& dy)> gradient;
  // Where arrays have an identity (optional): `gradient` with the arrays of its last call, written anew.
  std::function<Tensors(const Tensors& inputs, const Tensors& dy)> rewritten = {};
  // Where backward has a forward of its own (optional): `gradient` with a forward of `others` between the two.
  std::function<Tensors(const Tensors& inputs, const Tensors& dy, const Tensors& others)>
      interrupted = {};
  // For a function in a process of its own (optional): begins another one, which has kept nothing.
  std::function<void()> restart = {};
  // f refuses inputs whose sizes do not fit each other, or has a process of its own: such are tried, too. A function of
  // PyTorch may read beyond the end of an array then.
  bool refuses_misfits = false;
  // The inputs from this one on keep their shapes, as parameters of a module do.
  std::size_t fixed_shapes = std::numeric_limits<std::size_t>::max();
};

enum class CheckVerdict { Passed, Failed, Undecided, NotApplicable };
std::string_view name_of(CheckVerdict v);  // "passed", "failed", "undecided", "not applicable"

// The checks, by name:
//
//   differences   the derivatives are those of f
//   form          a gradient for each input, of its shape and dtype, finite
//   linear        backward is linear in dy
//   repeatable    f and backward give the same bits twice
//   stateless     and with other calls in between
//   inputs        neither writes to its arguments
//   batch         the gradient keeps examples (axis 0) apart if f does
//   broadcast     the gradient of an input that f broadcasts is a sum over the broadcast axes
//   elsewhere     right for other values and other sizes too, along a direction, in the same process
struct FunctionCheck {
  std::string name;
  CheckVerdict verdict = CheckVerdict::Undecided;
  std::string detail;  // one line: why
  bool doubt = false;  // undecided: what looks wrong may be right. The report has not passed
};

struct FunctionReport {
  std::string function;
  std::vector<FunctionCheck> checks;     // all of them, in this order
  std::string mistake;                   // what the mistake looks like; empty when nothing fits
  GradcheckReport differences;           // empty when the differences were not computed
  std::vector<std::string> not_checked;  // inputs without a derivative: "input 0 x (3) int64"

  const FunctionCheck& check(std::string_view name) const;
  // The derivatives are right, no check has failed, and none leaves a doubt.
  bool passed() const;
  explicit operator bool() const { return passed(); }
  std::string text() const;     // without a newline at its end
  std::string to_json() const;  // one JSON object
};

// `options`: its name, mode, tolerances and seed, and whether to be precise, as are the other checks then. ValueError when
// no input or no output is of a floating dtype, or when an option is out of range.
FunctionReport check_function(const Callbacks& f, const std::vector<GradcheckInput>& inputs,
                              const GradcheckOptions& options = {});

}  // namespace glim
