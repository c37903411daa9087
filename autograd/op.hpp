// The op contract, on one page. An op is one struct: its formula, its forward on tensors, its rule.
//
//   1. #include "autograd/apply.hpp"
//      struct Square final : Unary<Square> {
//        static constexpr Formula formula{"square", "y = x²", {"dx = 2 x dy"}};
//        Tensor forward(const Tensor& x) { save(X); return mul(x, x); }
//        Var dx(const Var& dy) const { return 2 * x() * dy; }
//      };
//   2. Var square(const In& x) { return apply(Square{}, x); }
//   3. a line in autograd/ops.hpp: the equation and what may go wrong
//   4. a specification in tools/gradients: the suite fails until there is one
//
// Forward checks shapes and dtypes, saves what the rule reads, and computes. The rule is written in
// differentiable ops, so that it can itself be recorded: the gradient of a gradient costs no further
// code. The engine checks the shapes of what the rule gives, and adds the gradients up.
//
// Two things are optional. `Var forward(const Var& ...) const` is the op in primitives: what the explicit
// magnification records. `fast_gradient` is the rule as a kernel (autograd/kernels), which backward runs
// unless it is recorded. One test holds kernel, rule and the derivative of the primitives equal, for all
// ops. An op has one output; what has several (split, sort) is made of ops.
#pragma once

#include "autograd/formula.hpp"
#include "autograd/grads.hpp"

namespace glim {

// A value that the rule will read: the number of an input (or Op::kOutput), and the value.
struct SavedValue {
  int input;
  Var value;
  std::uint64_t version;  // of its storage when it was saved
};

class Op {
 public:
  virtual ~Op() = default;
  // ∂L/∂x for each input x, given dy = ∂L/∂y, in differentiable ops.
  virtual Grads gradient(const Var& dy) const = 0;
  virtual Grads fast_gradient(const Var& dy) const { return gradient(dy); }

  static constexpr int kOutput = -1;
  const std::vector<SavedValue>& saved_values() const { return saved_; }
  virtual Index held_bytes() const { return 0; }  // what is kept beside them
  bool needs_grad(std::size_t input) const { return input >= 64 || (needs_ >> input & 1); }

 protected:
  Op() = default;
  Op(const Op&) = default;
  Op(Op&&) = default;
  template <class... Input>
  void save(Input... input) {  // in forward; nothing is kept unless the op is recorded
    if (inputs_) (keep(input, *inputs_[input]), ...);
  }
  void save_output() { wants_output_ = true; }
  // In the rule. StateError unless forward saved it, and if it was written to or replaced since.
  const Var& saved(int input) const;
  const Var& output() const { return saved(kOutput); }

 private:
  friend class Engine;
  void keep(int number, const Var& v);
  [[noreturn, gnu::cold]] void refuse_changed(const SavedValue& s) const;  // StateError
  const Formula* formula_ = nullptr;
  const Var* const* inputs_ = nullptr;  // during forward, when recorded
  std::uint64_t needs_ = 0;
  bool wants_output_ = false;
  std::vector<SavedValue> saved_;
};

// An op that primitives compute as well. In explicit form (magnification.hpp) apply records them in the op's
// place: `Var explicit_form(const Var& ...) const`.
struct Fused : Op {};

}  // namespace glim
