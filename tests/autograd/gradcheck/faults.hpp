// Ops that are wrong on purpose.
#pragma once

#include "autograd/ops.hpp"

namespace glim::checked {

using Vars = std::vector<Var>;
using Forward = std::function<Tensor(const std::vector<Tensor>& x)>;
// Gradients of all inputs from dy, the inputs and the output.
using Rule = std::function<Vars(const Var& dy, const Vars& x, const Var& y)>;

struct Planted final : Op {
  static constexpr Formula formula{"planted", "y = f(x)", {"d(input) = what the fault gives"}};
  Planted(Forward f, Rule b) : f_(std::move(f)), b_(std::move(b)) {}
  Tensor forward(const std::vector<Tensor>& x) {
    for (std::size_t k = 0; k < x.size(); ++k) save(static_cast<int>(k));
    save_output();
    count_ = x.size();
    return f_(x);
  }
  Grads gradient(const Var& dy) const override {
    Vars x;
    for (std::size_t k = 0; k < count_; ++k) x.push_back(saved(static_cast<int>(k)));
    Vars list = b_(dy, x, output());
    Grads d;
    for (std::size_t k = 0; k < list.size(); ++k) d[k] = list[k];
    return d;
  }

 private:
  Forward f_;
  Rule b_;
  std::size_t count_ = 0;
};

inline Var planted(const Forward& f, const Rule& b, const Vars& x) {
  return glim::apply(Planted(f, b), x);
}

// An op whose gradient is wrong, beside the right one.
struct Fault {
  const char* name;
  std::vector<Shape> inputs;
  Forward forward;
  Rule right, wrong;
  int blamed = 0;  // the input whose gradient is wrong; -1: all of them
};

std::vector<Fault> faults();

}  // namespace glim::checked
