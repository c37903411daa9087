// A function that sees complete gradients on their way, and may change them.
//
//   Hook halve(tape, "*context", [](const Var& dy) { return 0.5 * dy; });
//
// It returns a replacement of the same shape and dtype, or an undefined Var to keep dy. Hooks run in the order in
// which they were made. One that an earlier hook ends does not run; one that is made meanwhile runs at the
// next gradient.
#pragma once

#include "autograd/tape.hpp"
#include "tensor/error.hpp"

namespace glim {

class Hook final : public Observer {
 public:
  using Function = std::function<Var(const Var& dy)>;

  // At every node whose path matches: * any run of characters, ? one. ValueError for a null function.
  Hook(Tape& tape, std::string pattern, Function f) : pattern_(std::move(pattern)) {
    start(tape, std::move(f));
  }
  // At v alone. StateError when it is not on the tape.
  Hook(Tape& tape, const Var& v, Function f) {
    start(tape, std::move(f));
    node_ = required_node("hook", v);
  }

  Var change(int node, Var dy) override {
    if (node != node_ && (node_ != kByPattern || !glob_match(pattern_, tape()->path(node))))
      return dy;
    const Tape& observed = *tape();
    const auto call = function_;  // it may end this hook
    const Var replaced = (*call)(dy);
    if (!replaced.defined()) return dy;
    if (replaced.shape() == dy.shape() && replaced.dtype() == dy.dtype()) return replaced;
    ShapeError e("hook", "the replacement must have the gradient's shape and dtype",
                 {{"gradient", dy.value()}, {"replacement", replaced.value()}});
    place(e, observed, node);
    throw e;
  }
  void nodes_removed(int size, bool) override {
    if (node_ >= size) node_ = kGone;
  }

 private:
  static constexpr int kByPattern = -1, kGone = -2;
  void start(Tape& tape, Function f) {
    if (!f) throw ValueError("hook", "the hook is null: pass a function of the gradient");
    function_ = std::make_shared<Function>(std::move(f));
    tape.observe(*this);
  }

  std::string pattern_;
  int node_ = kByPattern;
  std::shared_ptr<Function> function_;
};

}  // namespace glim
