// Grads: the gradients that a rule returns, one for each input.
//
//   return {{A, dy * b()}, {B, dy * a()}};        all of them, or
//   if (needs_grad(A)) d[A] = dy * b();           skips an unneeded one
//
// An input that is left out gets no gradient, which is an error if it needs one. A gradient that no input
// needs is dropped.
#pragma once

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
  explicit Grads(Var only) { list_.push_back(std::move(only)); }  // of input 0
  Var& operator[](std::size_t input) {
    if (input >= list_.size()) {
      if (list_.empty()) list_.reserve(4);
      list_.resize(input + 1);
    }
    return list_[input];
  }
  bool has(std::size_t input) const { return input < list_.size() && list_[input].defined(); }
  Var take(std::size_t input) { return std::move(list_[input]); }

  // For a gradient that touches a few elements of a large input (a slice, rows of an embedding): the
  // engine calls `add` with what has been added up so far, or with zeros. Kernels alone do this.
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

}  // namespace glim
