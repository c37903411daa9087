// The op contract, on one page. An op is one struct: its formula, its forward on tensors, its rule.
//
//   1. #include "autograd/ops.hpp"
//      struct Square final : Unary<Square> {
//        static constexpr Formula formula{"square", "y = x²", {"dx = 2 x dy"}};
//        Tensor forward(const Tensor& x) { save(X); return mul(x, x); }
//        Var dx(const Var& dy) const { return 2 * x() * dy; }
//      };
//   2. Var square(const Operand& x) { return apply(Square{}, x); }
//   3. a line in autograd/ops.hpp: the equation and what may go wrong
//   4. a specification in tools/gradient_cases, a line in tests/fuzz/graphs/ops.cpp: the suite fails without
//
// Forward saves what the rule reads, and computes; it or the function above it checks shapes and dtypes. The rule is written in
// differentiable ops, so backward can record it, and the gradient of a gradient needs no further code.
// TapePass checks the shapes of the gradients, and the engine adds them up. An op has one output: functions with
// several (split, sort) are made of ops. An op of one input is a Unary, an op of two may be a Binary
// (rules.hpp). Any other op states the whole rule:
//
//      struct Scale final : Fused {
//        static constexpr Formula formula{"scale", "y = x s", {"dx = dy s", "ds = Σ dy ⊙ x"}};
//        enum Input { X, S };
//        Var explicit_form(const Var& x, const Var& s) const { return x * s; }
//        Grads gradient(const Var& dy) const override { return {{X, dy * saved(S)}, {S, sum(dy * saved(X))}}; }
//        Tensor forward(const Tensor& x, const Tensor& s) { save(X, S); return kernels::scale(x, s); }
//        Grads fast_gradient(const Var& dy) const override { ... }
//      };
//
// A Fused op can also be computed by primitives, its explicit form. apply records them when UseForm asks for
// them (op_form.hpp). fast_gradient is the rule as a kernel (autograd/kernels). Backward runs it, and with
// create_graph it runs gradient instead. One test holds all three forms equal, for all ops.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "autograd/arena.hpp"
#include "autograd/arguments.hpp"
#include "autograd/formula.hpp"
#include "autograd/grads.hpp"
#include "autograd/saved.hpp"

namespace glim {

using InputList = std::span<const Var* const>;  // the inputs of an op

class Op {
 public:
  Op() = default;
  Op(const Op&) = default;  // to run it again
  Op(Op&&) = default;       // onto the tape
  virtual ~Op() = default;
  // ∂L/∂x for each input x, given dy = ∂L/∂y.
  virtual Grads gradient(const Var& dy) const = 0;
  virtual Grads fast_gradient(const Var& dy) const { return gradient(dy); }
  // The arguments of its function that are no Vars.
  virtual Arguments arguments() const { return {}; }

  static constexpr int kOutput = SavedValue::kOutput;
  // By input, the output last.
  std::span<const SavedValue> saved_values() const { return saved_.values; }
  const std::vector<Tensor>& kept_values() const { return kept_; }
  bool needs_grad(std::size_t input) const {
    return needs_ >> std::min<std::size_t>(input, 63) & 1;
  }

 protected:
  // In forward: what backward reads. Nothing is saved unless the op is recorded. StateError for an input it lacks.
  // Saving one of the inputs from 63 on saves all of them.
  template <class... Input>
  void save(Input... input) {
    if (recorded()) (save_input(input), ...);
  }
  void save_output() { wants_output_ = true; }
  // Tensors that the kernel made and reads again, such as the statistics of rows: kept(0), kept(1), ...
  template <class... T>
  void keep(const T&... tensors) {
    if (recorded()) kept_ = {tensors...};
  }
  bool recorded() const { return inputs_ != nullptr; }

  // In the rule. StateError if forward did not save or keep the value, or if it has changed since.
  const Var& saved(int input) const;
  const Var& output() const { return saved(kOutput); }
  const Tensor& kept(int number) const;

  // Before forward. The op is recorded if it needs a gradient of an input: a bit of `needs` for each, the last one for
  // all from 63 on.
  void start(const Formula& formula, InputList inputs, std::uint64_t needs);

 private:
  friend class Graph;
  void save_input(int number);
  bool saves(std::size_t input) const { return saves_ >> std::min<std::size_t>(input, 63) & 1; }
  void keep_saved(TapeArena& arena, InputList inputs, const Var& y);      // when it is recorded
  [[noreturn, gnu::cold]] void refuse(const std::string& problem) const;  // StateError
  const Formula* formula_ = nullptr;
  const Var* const* inputs_ = nullptr;  // during forward, when recorded
  std::uint64_t needs_ = 0, saves_ = 0;
  std::uint64_t versions_ = 0;  // sum of the saved inputs' versions at that time
  bool wants_output_ = false;
  int input_count_ = 0;
  // In the arena of the tape. A copy of an op, which is to run again, has not saved anything.
  struct Saved {
    Saved() = default;
    Saved(const Saved&) noexcept {}
    ~Saved() { std::destroy(values.begin(), values.end()); }
    std::span<SavedValue> values;
  } saved_;
  std::vector<Tensor> kept_;
};

// An op in an arena: it ends, and its memory stays.
struct EndsInPlace {
  void operator()(Op* op) const { op->~Op(); }
};
using OpInPlace = std::unique_ptr<Op, EndsInPlace>;

struct Fused : Op {};

}  // namespace glim
