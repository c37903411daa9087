// Comparisons, logic and places: values that no gradient flows through.
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

// f(), whose errors name the line of the call.
template <class F>
Tensor at_line(const Operand& x, std::string_view op, const F& f) {
  const Var* inputs[] = {&*x};
  try {
    return f();
  } catch (Error& e) {
    annotate(e, op, inputs, x.where());
    throw;
  }
}

}  // namespace

#define GLIM_COMPARISON(NAME)                                              \
  Tensor NAME(const Operand& a, const Var& b) {                            \
    return at_line(a, #NAME, [&] { return NAME(a->value(), b.value()); }); \
  }
#define GLIM_COMPARISON_WITH_NUMBER(NAME)                          \
  GLIM_COMPARISON(NAME)                                            \
  Tensor NAME(const Operand& x, double c) {                        \
    return at_line(x, #NAME, [&] { return NAME(x->value(), c); }); \
  }
GLIM_COMPARISON_WITH_NUMBER(equal)
GLIM_COMPARISON_WITH_NUMBER(not_equal)
GLIM_COMPARISON_WITH_NUMBER(less)
GLIM_COMPARISON_WITH_NUMBER(less_equal)
GLIM_COMPARISON_WITH_NUMBER(greater)
GLIM_COMPARISON_WITH_NUMBER(greater_equal)
GLIM_COMPARISON(logical_and)
GLIM_COMPARISON(logical_or)
#undef GLIM_COMPARISON
#undef GLIM_COMPARISON_WITH_NUMBER

Tensor logical_not(const Operand& a) {
  return at_line(a, "logical_not", [&] { return logical_not(a->value()); });
}
Tensor argmax(const Operand& x, Index axis, bool keepdim) {
  return at_line(x, "argmax", [&] { return argmax(x->value(), axis, keepdim); });
}
Tensor argmin(const Operand& x, Index axis, bool keepdim) {
  return at_line(x, "argmin", [&] { return argmin(x->value(), axis, keepdim); });
}
Tensor argmax(const Operand& x) {
  return at_line(x, "argmax", [&] { return argmax(x->value()); });
}
Tensor argmin(const Operand& x) {
  return at_line(x, "argmin", [&] { return argmin(x->value()); });
}

}  // namespace glim
