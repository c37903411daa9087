#include "autograd/var.hpp"

#include <set>

#include "tensor/error.hpp"

namespace glim {

Var Var::leaf(Tensor value, std::string name) {
  Var v;
  v.leaf_ = std::make_shared<Leaf>();
  v.leaf_->value = std::move(value);
  v.leaf_->name = std::move(name);
  return v;
}

Leaf& Var::leaf() const {
  if (!leaf_) throw StateError("leaf", "the value is not a leaf", {{"x", value_}});
  return *leaf_;
}
Tensor Var::grad() const {
  std::lock_guard lock(leaf().adding);
  return leaf_->grad;
}
// The old gradient is freed after the lock: its memory may belong to somebody who waits for it.
void Var::set_grad(Tensor g) const {
  const Tensor& x = leaf().value;
  if (g.defined() && (g.shape() != x.shape() || g.dtype() != x.dtype()))
    throw ShapeError("grad", "a gradient has the shape and dtype of its leaf",
                     {{"leaf", x}, {"grad", g}});
  std::lock_guard lock(leaf_->adding);
  std::swap(leaf_->grad, g);
}
const std::string& Var::name() const {
  static const std::string none;
  if (leaf_ && leaf_->names) leaf_->names->refresh();
  return leaf_ ? leaf_->name : none;
}
NamedParameters::NamedParameters(const std::vector<Var>& leaves) {
  std::set<std::string> taken{""};
  for (const Var& leaf : leaves)
    emplace_back(
        taken.insert(leaf.name()).second ? leaf.name() : leaf.name() + "#" + std::to_string(size()),
        leaf);
}

}  // namespace glim
