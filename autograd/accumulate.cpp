#include "autograd/accumulate.hpp"

#include <algorithm>
#include <mutex>

#include "autograd/operand.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

Var operator+(const Operand& a, const Var& b);  // ops.hpp

namespace {

// True if several indices share one element.
bool repeats(const Tensor& x) {
  for (int i = 0; i < x.rank(); ++i)
    if (x.strides()[i] == 0 && x.shape()[i] > 1) return true;
  return false;
}

// True when nobody else sees these elements: it may be added to in place.
bool exclusive(const Tensor& x) { return !repeats(x) && x.storage().exclusive(); }

// A copy with the same memory order. Another order would change how a later product rounds.
Tensor copied(const Tensor& x) {
  if (repeats(x)) return x.clone();
  Dims order = x.shape(), back = x.shape();
  for (int i = 0; i < x.rank(); ++i) order[i] = i;
  std::stable_sort(&order[0], &order[0] + x.rank(),
                   [&](Index a, Index b) { return x.strides()[a] > x.strides()[b]; });
  for (int i = 0; i < x.rank(); ++i) back[static_cast<int>(order[i])] = i;
  return permute(permute(x, order).clone(), back);
}

}  // namespace

void add_to(Var& total, Var gradient, bool create_graph) {
  if (!total.defined()) {
    total = std::move(gradient);
  } else if (create_graph) {
    total = total + gradient;
  } else if (exclusive(total.value())) {
    add_(total.value(), gradient.value());
  } else if (total.value().is_contiguous()) {
    total = Var(add(total.value(), gradient.value()));  // copied and added to in one pass
  } else {
    total = copied(total.value());
    add_(total.value(), gradient.value());
  }
}

void add_to(Var& total, const AddTo& part, const Shape& shape, DType dtype) {
  if (!total.defined())
    total = zeros(shape, dtype);
  else if (!exclusive(total.value()))
    total = copied(total.value());
  part(total.value());
}

// The leaf must own its gradient alone, because it writes to it. The gradient must not keep a much
// larger block alive.
void add_to(Leaf& leaf, Var gradient) {
  const Tensor g = gradient.take_value();
  Tensor before;                      // what others see
  std::lock_guard lock(leaf.adding);  // let go before these are freed, which may call Python
  if (leaf.grad.defined()) {
    if (!exclusive(leaf.grad)) leaf.grad = copied(before = leaf.grad);
    add_(leaf.grad, g);
    return;
  }
  const bool alone = g.is_contiguous() && g.storage().exclusive() &&
                     static_cast<Index>(g.storage().bytes()) <= 2 * g.bytes();
  leaf.grad = alone ? g : g.clone();
}

}  // namespace glim
