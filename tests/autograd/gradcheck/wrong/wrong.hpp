// Backwards that are wrong as a student writes them, each beside the right one and with what it should look like.
#pragma once

#include "autograd/ops.hpp"

namespace glim::wrongs {

using Vars = std::vector<Var>;

// The values that a rule may read: dy, the inputs and the output.
struct At {
  Var dy;
  Vars x;
  Var y;
};
using Forward = std::function<Var(const Vars& x)>;
using Gradient = std::function<Var(const At& a)>;  // of one input

struct WrongGradient {
  const char* mistake;
  const char* looks;  // part of the name that fits; empty: no name of the checker's fits it
  std::size_t input;
  Gradient dx;
};

struct WrongOp {
  const char* name;
  std::vector<Shape> inputs;  // elements of (0.3, 2)
  Forward forward;
  std::vector<Gradient> right;  // by input
  std::vector<WrongGradient> wrong;
};

// A file each.
std::vector<WrongOp> wrong_functions();
std::vector<WrongOp> wrong_products();
std::vector<WrongOp> wrong_rows();
std::vector<WrongOp> wrong_ops();  // all of them

using Rule = std::function<Vars(const At& a)>;
// y = forward(x), with the gradients that the rule gives.
Var planted(const Forward& forward, const Rule& rule, const Vars& x);
// The op with its right gradients, but for that of `wrong`, if given.
Var planted(const WrongOp& op, const WrongGradient* wrong, const Vars& x);

// The checker's names of mistakes.
inline constexpr const char* kPassed = "dy passed on";
inline constexpr const char* kOnes = "dy used as ones";
inline constexpr const char* kFactor = "a constant factor";
inline constexpr const char* kIgnored = "a mask ignored";
inline constexpr const char* kTranspose = "missing transpose";
inline constexpr const char* kLost = "contributions lost";
inline constexpr const char* kOwn = "own element alone";
inline constexpr const char* kTerm = "a term along axis 1";
inline constexpr const char* kOtherAxis = "instead of axis 1";

// Functions that the rules below use.
inline Var like(const Var& x, double value) { return Var(full(x.shape(), value, x.dtype())); }
// dy where keep, else 0
inline Var only(const Tensor& keep, const Var& dy) { return where(keep, dy, like(dy, 0)); }

}  // namespace glim::wrongs
