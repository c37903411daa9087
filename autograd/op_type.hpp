// An op whose type is not known: what the engine does with it, by pointers to functions.
#pragma once

#include <utility>

#include "autograd/arena.hpp"
#include "autograd/op.hpp"
#include "tensor/where.hpp"

namespace glim {

struct OpType {
  const Formula& formula;
  Tensor (*forward)(Op& op, InputList inputs);
  Op* (*move)(Op& op, TapeArena& arena);
  std::shared_ptr<Op> (*copy)(const Op& op);
};

// An op on its inputs, called at a line.
struct Call {
  Op& op;
  const OpType& type;
  InputList inputs;
  const Where& where;
};

namespace detail {

template <class OpT>
struct Registered {
  static inline const bool done = register_formula(OpT::formula);
};

// N tensors, or with N = 0 a list of them.
template <class OpT, std::size_t N>
Tensor forward_of(Op& base, InputList x) {
  (void)Registered<OpT>::done;
  OpT& op = static_cast<OpT&>(base);
  if constexpr (requires { op.x_shape; }) op.x_shape = x[0]->shape();
  if constexpr (N == 0) {
    std::vector<Tensor> values;
    for (const Var* v : x) values.push_back(v->value());
    return op.forward(values);
  } else {
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return op.forward(x[K]->value()...); }
    (std::make_index_sequence<N>());
  }
}
template <class OpT>
Op* move_op(Op& op, TapeArena& arena) {
  static_assert(std::is_nothrow_move_constructible_v<OpT>,
                "an op is moved onto the tape, not copied");
  return arena.make<OpT>(static_cast<OpT&&>(op));
}
template <class OpT>
std::shared_ptr<Op> copy_op(const Op& op) {
  return std::make_shared<OpT>(static_cast<const OpT&>(op));
}

}  // namespace detail

template <class OpT, std::size_t N>
inline constexpr OpType kOpType{OpT::formula, detail::forward_of<OpT, N>, detail::move_op<OpT>,
                                detail::copy_op<OpT>};

}  // namespace glim
