// In: a Var handed to a function, and the line that hands it over.
//
//   Var y = gelu(x * w);        an error in the product or in gelu names this line
//
// An op takes its first operand as an In, which is made where the call stands, also when the call is an
// operator. A Tensor becomes a constant: mixing one into an expression of Vars is allowed everywhere,
// and nothing flows into it.
#pragma once

#include <optional>

#include "autograd/scope.hpp"
#include "autograd/var.hpp"

namespace glim {

class In {
 public:
  In(const Var& v, Where where = Where::current()) : var_(&v), where_(where) {}
  In(const Tensor& constant, Where where = Where::current())
      : constant_(constant), var_(&*constant_), where_(where) {}
  // Of what stands for a Var, as a module's parameter does.
  template <class V>
  requires requires(const V& v) { v.operator const Var&(); }
  In(const V& v, Where where = Where::current()) : In(v.operator const Var&(), where) {}
  In(const In&) = delete;
  In& operator=(const In&) = delete;

  operator const Var&() const { return *var_; }
  const Var* operator->() const { return var_; }
  const Var& operator*() const { return *var_; }
  // The line of the call: of the outermost function of ops that is running (CallSite), or of this In.
  const Where& where() const { return CallSite::or_own(where_); }

 private:
  std::optional<Var> constant_;
  const Var* var_;
  Where where_;
};

// The same for a list of Vars.
class Ins {
 public:
  Ins(const std::vector<Var>& list, Where where = Where::current()) : list_(list), where_(where) {}
  Ins(std::initializer_list<Var> list, Where where = Where::current())
      : own_(list), list_(own_), where_(where) {}
  Ins(const Ins&) = delete;
  Ins& operator=(const Ins&) = delete;

  const std::vector<Var>& operator*() const { return list_; }
  const std::vector<Var>* operator->() const { return &list_; }
  const Where& where() const { return CallSite::or_own(where_); }

 private:
  std::vector<Var> own_;
  const std::vector<Var>& list_;
  Where where_;
};

}  // namespace glim
