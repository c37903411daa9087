// Operand: a Var handed to a function, and the line that hands it over.
//
//   Var y = gelu(x * w);        an error in the product or in gelu names this line
//
// An op takes its first operand as an Operand, which is made at the place of the call, also when the call is an
// operator. A Tensor becomes a constant: mixing one into an expression of Vars is allowed everywhere,
// and nothing flows into it.
#pragma once

#include <optional>

#include "autograd/scope.hpp"
#include "autograd/var.hpp"

namespace glim {

class Operand {
 public:
  Operand(const Var& v, Where where = Where::current()) : var_(&v), where_(where) {}
  Operand(const Tensor& constant, Where where = Where::current())
      : constant_(constant), var_(&*constant_), where_(where) {}
  // From a type that converts to Var, such as a module's Param.
  template <class V>
  requires requires(const V& v) { v.operator const Var&(); }
  Operand(const V& v, Where where = Where::current()) : Operand(v.operator const Var&(), where) {}
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  operator const Var&() const { return *var_; }
  const Var* operator->() const { return var_; }
  const Var& operator*() const { return *var_; }
  // The line of the call: of the outermost function of ops that is running (CallSite), or of this Operand.
  const Where& where() const { return CallSite::or_own(where_); }

 private:
  std::optional<Var> constant_;
  const Var* var_;
  Where where_;
};

}  // namespace glim
