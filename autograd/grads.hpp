// Grads: the gradients that a rule returns, one for each input.
//
//   return {{A, dy * b()}, {B, dy * a()}};        all of them, or
//   if (needs_grad(A)) d[A] = dy * b();           skips an unneeded one
//
// An input that is left out gets no gradient, which is an error if it needs one. A gradient that no input
// needs is dropped.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "autograd/var.hpp"

namespace glim {

// Adds to `total` (of the input's shape and dtype) a gradient that never exists on its own.
using AddTo = std::function<void(const Tensor& total)>;

class Grads {
 public:
  Grads() = default;
  Grads(std::initializer_list<std::pair<int, Var>> list) {
    for (const auto& [input, g] : list) (*this)[input] = g;
  }
  explicit Grads(Var only) { first_[0] = std::move(only); }  // the gradient of input 0
  // A gradient that touches few elements of a large input 0 (a slice, rows of an embedding).
  // The engine calls `only` with the sum so far, or with zeros. Only kernels return one.
  explicit Grads(AddTo only) : part_(std::move(only)) {}
  Var& operator[](std::size_t input) {
    if (input < first_.size()) return first_[input];
    input -= first_.size();
    if (input >= rest_.size()) rest_.resize(input + 1);
    return rest_[input];
  }
  // Undefined where the rule gave none.
  Var take(std::size_t input) {
    return input < first_.size() + rest_.size() ? std::move((*this)[input]) : Var();
  }
  const AddTo& part() const { return part_; }
  AddTo take_part() { return std::exchange(part_, {}); }

 private:
  std::array<Var, 2> first_;  // most ops have no more inputs, so most rules take no memory
  std::vector<Var> rest_;
  AddTo part_;
};

}  // namespace glim
