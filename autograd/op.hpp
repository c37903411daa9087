// The op contract, on one page.
//
// An op is one struct in one place: its name, its forward on tensors, its backward on Vars. The
// header above it states the equation, the gradient of each input, the shapes, and what backward
// reads. To add one:
//
//   1. struct Square final : Op {                       //   y = x²
//        enum Input { X };
//        std::string_view name() const override { return "square"; }
//        Tensor forward(const Tensor& x) { save(X); return mul(x, x); }
//        Grads backward(const Var& dy) const override { //   dx = 2 x dy      reads x
//          Grads d;
//          if (needs_grad(X)) d[X] = mul(dy, mul(saved(X), 2));
//          return d;
//        }
//      };
//   2. Var square(const Var& x, Where where = Where::current()) {
//        return apply(where, Square{}, x);
//      }
//   3. a line in autograd/ops.hpp: the equation and what may go wrong
//   4. a specification in tests/gradients: the suite fails until there is one
//
// Forward checks shapes and dtypes before it computes. Backward returns gradients by input; the
// engine checks their shapes and adds them up. Backward is written in the same differentiable
// ops, so that it can itself be recorded: the gradient of a gradient costs no further code.
// An op has one output; what has several (split, sort) is a composition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/scope.hpp"
#include "autograd/var.hpp"
#include "tensor/error.hpp"

namespace glim {

// Adds to `total` (of the input's shape and dtype) a gradient that never exists on its own.
using AddTo = std::function<void(const Tensor& total)>;

// Gradients by input number; an input left out has none.
class Grads {
 public:
  Var& operator[](std::size_t input) {
    if (input >= list_.size()) {
      if (list_.empty()) list_.reserve(4);
      list_.resize(input + 1);
    }
    return list_[input];
  }
  bool has(std::size_t input) const { return input < list_.size() && list_[input].defined(); }
  Var take(std::size_t input) { return std::move(list_[input]); }

  // For a gradient that touches a few elements of a large input (a slice, rows of an embedding):
  // the engine calls `add` with what has been added up so far, or with zeros. Not while backward is
  // recorded.
  void add_to(std::size_t input, AddTo add) { parts_.emplace_back(input, std::move(add)); }
  AddTo take_part(std::size_t input) {
    for (auto& [i, add] : parts_)
      if (i == input) return std::move(add);
    return {};
  }

 private:
  std::vector<Var> list_;
  std::vector<std::pair<std::size_t, AddTo>> parts_;
};

// A value that backward will read: the number of an input (or Op::kOutput), and the value.
struct SavedValue {
  int input;
  // The op that computed it keeps what it takes to do so again (Op::recomputes): no value is kept
  // until backward reads it.
  bool recomputed;
  Var value;
};

class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  virtual Grads backward(const Var& dy) const = 0;

  // What backward will read, for pictures of the tape.
  static constexpr int kOutput = -1;
  const std::vector<SavedValue>& saved_values() const { return saved_; }
  virtual Index held_bytes() const { return 0; }  // of what is kept beside them
  bool needs_grad(std::size_t input) const { return input >= 64 || (needs_ >> input & 1); }
  // Of less, the memory is not worth a pass over it.
  static bool is_large(const Tensor& x, Index more_than_bytes = Index{1} << 20);

  // Rematerialisation (Jain et al. 2020, arXiv 1910.02653): an op that keeps all that its output
  // takes, and computes it in little more time than it would be read in, says so once forward has
  // run. What reads a large output of it (the next ops, or its own backward) keeps none, and has it
  // computed again: a norm costs the memory of one tensor instead of two. recompute() gives forward's
  // bits.
  virtual bool recomputes() const { return false; }
  virtual Tensor recompute() const { return {}; }

 protected:
  Op() = default;
  Op(const Op&) = default;
  Op(Op&&) = default;
  Op& operator=(const Op&) = default;
  Op& operator=(Op&&) = default;

  // None of what was saved is recomputed. For recomputes(): recompute() then never calls another.
  bool keeps_inputs() const;
  // For forward: keep an input, or the output, for backward. Nothing is kept unless recorded, nor
  // of a large input that its op recomputes.
  void save(std::size_t input);
  void save_output() { wants_output_ = true; }
  // For backward. StateError for an input to be recomputed by an op that was used up.
  const Var& saved(int input) const;
  const Var& output() const { return saved(kOutput); }
  // True while backward is itself recorded: fused kernels then fall back to their composition.
  static bool recording();

 private:
  friend class Recorder;
  friend class Tape;
  friend class CheckpointOp;
  void keep(int number, const Var& v);
  const Var* const* inputs_ = nullptr;  // during forward, when recorded
  std::size_t input_count_ = 0;
  std::uint64_t needs_ = 0;
  bool wants_output_ = false;
  mutable std::vector<SavedValue> saved_;
};

// A hand-written kernel that equals a composition of other ops. The composition is what the
// explicit magnification records, what a test holds the kernel equal to, and what backward runs
// when it is itself recorded.
class FusedOp : public Op {
 public:
  // The same value from primitives; `inputs` are all saved inputs in order.
  virtual Var composition(const std::vector<Var>& inputs) const = 0;

 protected:
  // Gradients of <composition(inputs), dy> by every input that needs one, recorded.
  Grads through_composition(const std::vector<Var>& inputs, const Var& dy) const;
};

// Every op that the program can record, by name.
std::vector<std::string_view> registered_ops();

// The forward of an op on other operands (Kept::again).
using Replay = std::function<Tensor(const std::vector<Tensor>&)>;

// One forward pass of one op: finds out whether to record, and adds places to errors.
class Recorder {
 public:
  Recorder(Op& op, const Var* const* inputs, std::size_t count, const Where& where);
  bool active() const { return active_; }
  bool replays() const { return replays_; }  // active, on a tape with TapeOptions::replay
  // Puts the op (moved to the heap) on the tape and returns its result as a Var.
  Var record(std::unique_ptr<Op> op, Tensor y) const;
  void keep(const Var& y, Replay again) const;  // for replays(), once it is recorded
  Var constant(const Op& op, Tensor y) const;   // nothing to record
  void annotate(Error& error, const Op& op) const;
  // For a replay: the op as it was before this forward, recording nothing.
  static void unrecorded(Op& op);
  static void check_count(const Op& op, std::size_t given, std::size_t wanted);

 private:
  void check_finite(const Op& op, const Tensor& y) const;
  void find_needs(Op& op);
  // StateError for an input whose tape is gone.
  [[gnu::cold]] void refuse_gone(const Op& op) const;
  const Var* const* inputs_;
  std::size_t count_;
  const Where& where_;
  bool active_ = false, replays_ = false;
  double start_ = 0;
};

bool register_op(std::string_view name);

namespace detail {
template <class OpT>
struct Registered {
  static inline const bool done = register_op(OpT{}.name());
};
// op.forward on operands in a list, whether it takes them one by one or as one.
template <class OpT, std::size_t... K>
Tensor forward_of(OpT& op, const std::vector<Tensor>& x, std::index_sequence<K...>) {
  return op.forward(x[K]...);
}
struct AsList {};
template <class OpT>
Tensor forward_of(OpT& op, const std::vector<Tensor>& x, AsList) {
  return op.forward(x);
}

// As apply_list, keeping what is needed to run the op again: rare, so out of the common path.
template <class OpT, class Forward, class Operands>
[[gnu::cold, gnu::noinline]] Var recorded_to_replay(const Recorder& recorder, OpT& op,
                                                    std::size_t count, const Forward& forward,
                                                    Operands operands) {
  OpT before = op;
  Recorder::unrecorded(before);
  Tensor y = forward();
  Var result = recorder.record(std::make_unique<OpT>(std::move(op)), std::move(y));
  recorder.keep(result, [before = std::move(before), count, operands](const auto& x) {
    Recorder::check_count(before, x.size(), count);
    OpT fresh = before;
    return forward_of(fresh, x, operands);
  });
  return result;
}

template <class OpT, class Forward, class Operands>
Var apply_list(const Where& where, OpT& op, const Var* const* inputs, std::size_t count,
               const Forward& forward, Operands operands) {
  (void)Registered<OpT>::done;
  Recorder recorder(op, inputs, count, where);
  try {
    if (recorder.replays()) [[unlikely]]
      return recorded_to_replay(recorder, op, count, forward, operands);
    Tensor y = forward();
    if (!recorder.active()) return recorder.constant(op, std::move(y));
    return recorder.record(std::make_unique<OpT>(std::move(op)), std::move(y));
  } catch (Error& e) {
    recorder.annotate(e, op);
    throw;
  }
}
}  // namespace detail

// y = op.forward(values of the inputs), recorded when a tape is open and an input wants it.
template <class OpT, class... Inputs>
Var apply(const Where& where, OpT op, const Inputs&... inputs) {
  const Var* list[] = {&inputs...};
  return detail::apply_list(
      where, op, list, sizeof...(inputs), [&] { return op.forward(inputs.value()...); },
      std::index_sequence_for<Inputs...>());
}
// The same for any number of inputs.
template <class OpT>
Var apply(const Where& where, OpT op, const std::vector<Var>& inputs) {
  std::vector<const Var*> list;
  std::vector<Tensor> values;
  for (const Var& v : inputs) {
    list.push_back(&v);
    values.push_back(v.value());
  }
  return detail::apply_list(
      where, op, list.data(), list.size(), [&] { return op.forward(values); }, detail::AsList());
}

}  // namespace glim
