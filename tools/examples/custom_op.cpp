// An op of one's own: its formula, its forward on tensors, its gradient as a rule in operators, its check.
//
//   custom_op
//
// The rule is all that backward needs. It is made of ops that have gradients themselves, so the gradient
// of the gradient is there too. autograd/op.hpp says what else an op can have.
#include <iostream>

#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/ops.hpp"
using namespace glim;

struct LogCosh final : Unary<LogCosh> {
  static constexpr Formula formula{"log_cosh", "y = ln cosh(x)", {"dx = dy ⊙ tanh(x)"}};

  Tensor forward(const Tensor& x) {
    save(X);                                              // the rule reads it
    return abs(x) + log(0.5 * exp(-2.0 * abs(x)) + 0.5);  // no overflow
  }
  Var dx(const Var& dy) const { return dy * tanh(x()); }
};

Var log_cosh(const Operand& x) { return apply(LogCosh{}, x); }

int main() {
  Var x = Var::leaf(tensor({-1000, -1, 0, 1, 2, 100}, {2, 3}, DType::Float64), "x");
  Tape tape;
  Var y = log_cosh(x);
  tape.backward(sum(y));
  std::cout << "y =\n" << y << "\ndx =\n" << x.grad() << "\n";

  auto f = [](const std::vector<Var>& in) { return log_cosh(in[0]); };
  Tensor point = normal({2, 3}, 0, 1, {1, 0}, DType::Float64);
  auto first = gradcheck(f, {{"x", point}}, {.name = "log_cosh"});
  auto second = gradcheck(f, {{"x", point}}, {.name = "its gradient", .second_order = true});
  std::cout << first << "\n" << second << "\n";
  return first && second ? 0 : 1;
}
