// Running an op: apply(op, x, ...) computes y = op.forward(values of the inputs), and records the op when
// a tape is open and an input wants a gradient. Shapes of rules that many ops share: Unary, Binary.
#pragma once

#include <concepts>
#include <memory>

#include "autograd/engine.hpp"
#include "autograd/op.hpp"
#include "autograd/op_form.hpp"
#include "autograd/operand.hpp"
#include "tensor/error.hpp"

namespace glim {

Var named(Var v, std::string_view label);  // tape.hpp

// y = f(x): the op states `Var dx(const Var& dy) const`, and may have a kernel for it,
// `Tensor kernel(const Tensor& dy) const`, which may also return an AddTo.
template <class Self>
struct Unary : Op {
  enum Input { X };
  const Var& x() const { return saved(X); }
  const Var& y() const { return output(); }
  Grads gradient(const Var& dy) const final { return Grads(self().dx(dy)); }
  Grads fast_gradient(const Var& dy) const final {
    if constexpr (requires { self().kernel(dy.value()); })
      return Grads(self().kernel(dy.value()));
    else
      return gradient(dy);
  }
  Shape x_shape;  // apply sets it

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

// y = f(a, b): the op states `Var da(const Var& dy) const` and `db`.
template <class Self>
struct Binary : Op {
  enum Input { A, B };
  const Var& a() const { return saved(A); }
  const Var& b() const { return saved(B); }
  const Var& y() const { return output(); }
  Grads gradient(const Var& dy) const final {
    const Self& self = static_cast<const Self&>(*this);
    Grads d;
    if (needs_grad(A)) d[A] = self.da(dy);
    if (needs_grad(B)) d[B] = self.db(dy);
    return d;
  }
};

namespace detail {

template <class OpT>
struct Registered {
  static inline const bool done = register_formula(OpT::formula);
};

// op.forward on the values of operands, which it takes one by one or as a list.
template <class OpT, std::size_t... K>
Tensor forward_of(OpT& op, InputList x, std::index_sequence<K...>) {
  if constexpr (requires { op.x_shape; }) op.x_shape = x[0]->shape();
  return op.forward(x[K]->value()...);
}
struct AsList {};
template <class OpT>
Tensor forward_of(OpT& op, InputList x, AsList) {
  std::vector<Tensor> values;
  for (const Var* v : x) values.push_back(v->value());
  return op.forward(values);
}
inline std::vector<const Var*> pointers_to(const std::vector<Var>& list) {
  std::vector<const Var*> pointers;
  for (const Var& v : list) pointers.push_back(&v);
  return pointers;
}

template <class OpT, class Operands>
Var apply_list(const Where& where, OpT& op, InputList inputs, Operands operands);

// How to apply the op to other operands: rare, so out of the common path.
template <class OpT, class Operands>
[[gnu::cold, gnu::noinline]] RunAgain again(const OpT& op, const Where& where, std::size_t count,
                                            Operands operands) {
  return [before = op, where, count, operands](const std::vector<Var>& x) {
    if (x.size() != count)
      throw ValueError(OpT::formula.op, "has " + std::to_string(count) +
                                            " operands, and is run again on " +
                                            std::to_string(x.size()));
    OpT fresh = before;
    return apply_list(where, fresh, pointers_to(x), operands);
  };
}

template <class OpT, class Operands>
Var apply_list(const Where& where, OpT& op, InputList inputs, Operands operands) {
  (void)Registered<OpT>::done;
  static_assert(std::is_nothrow_move_constructible_v<OpT>,
                "an op is moved onto the tape, not copied");
  try {
    Engine::Recorder recorder(op, OpT::formula, inputs, where);
    RunAgain run;
    if (recorder.replays()) [[unlikely]]
      run = again(op, where, inputs.size(), operands);
    Tensor y = forward_of(op, inputs, operands);
    if (!recorder.active()) return recorder.constant(std::move(y));
    return recorder.record(OpInPlace(recorder.arena().template make<OpT>(std::move(op))),
                           std::move(y), std::move(run));
  } catch (Error& e) {
    Engine::annotate(e, OpT::formula.op, inputs, where);
    throw;
  }
}

}  // namespace detail

template <class OpT, class... Inputs>
Var apply(OpT op, const Operand& first, const Inputs&... rest) {
  const Where& where = first.where();
  if constexpr (std::derived_from<OpT, Fused>)
    if (op_form() == OpForm::Explicit) {
      CallSite site(where);
      return op.explicit_form(*first, rest...);
    }
  const Var* list[] = {&*first, &rest...};
  Var y = detail::apply_list(where, op, list, std::make_index_sequence<1 + sizeof...(rest)>());
  if constexpr (requires { OpT::label; })
    return named(std::move(y), OpT::label);
  else
    return y;
}
// apply for any number of inputs, of a call at `where`.
template <class OpT>
Var apply(OpT op, const std::vector<Var>& inputs, const Where& where) {
  return detail::apply_list(CallSite::or_own(where), op, detail::pointers_to(inputs),
                            detail::AsList());
}

}  // namespace glim
