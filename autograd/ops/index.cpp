// Selecting and adding by index. Index tensors are constants.
#include "tensor/ops/index.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace ops {

struct Gather final : Unary<Gather> {
  static constexpr Formula formula{
      "gather", "y[.., j, ..] = x[.., index[.., j, ..], ..]", {"dx = zeros, += dy at index"}};
  Gather(int a, Tensor i) : axis(a), index(std::move(i)) {}
  Tensor forward(const Tensor& x) { return gather(x, axis, index); }
  Var dx(const Var& dy) const { return scatter_add(zeros(x_shape, dy.dtype()), axis, index, dy); }
  Arguments arguments() const override { return {{"axis", axis}, {"index", index}}; }
  int axis;
  Tensor index;
};

struct ScatterAdd final : Op {
  static constexpr Formula formula{
      "scatter_add", "y = x, += source at index", {"dx = dy", "dsource = dy gathered at index"}};
  enum Input { X, Source };
  ScatterAdd(int a, Tensor i) : axis(a), index(std::move(i)) {}
  Tensor forward(const Tensor& x, const Tensor& source) {
    return scatter_add(x, axis, index, source);
  }
  Grads gradient(const Var& dy) const override {
    return {{X, dy}, {Source, gather(dy, axis, index)}};
  }
  Arguments arguments() const override { return {{"axis", axis}, {"index", index}}; }
  int axis;
  Tensor index;
};

struct IndexSelect final : Unary<IndexSelect> {
  static constexpr Formula formula{
      "index_select", "y = rows index[i] of x", {"dx = zeros, row index[i] += dy row i"}};
  IndexSelect(int a, Tensor i) : axis(a), index(std::move(i)) {}
  Tensor forward(const Tensor& x) { return index_select(x, axis, index); }
  Var dx(const Var& dy) const { return index_add(x_shape, axis, index, dy); }
  AddTo kernel(const Tensor& dy) const {
    return [this, dy](const Tensor& total) {
      // Term by term also where the total is a view: a row that is taken twice has one sum, a + b + c.
      const Tensor sum = total.contiguous();
      index_add_(sum, axis, index, dy);
      if (!total.is_contiguous()) total.copy_(sum);
    };
  }
  Arguments arguments() const override { return {{"axis", axis}, {"index", index}}; }
  int axis;
  Tensor index;
};

struct IndexAdd final : Unary<IndexAdd> {
  static constexpr Formula formula{
      "index_add", "y = zeros, row index[i] += source row i", {"dsource = rows index[i] of dy"}};
  IndexAdd(const Shape& s, int a, Tensor i) : shape(s), axis(a), index(std::move(i)) {}
  Tensor forward(const Tensor& source) { return index_add(shape, axis, index, source); }
  Var dx(const Var& dy) const { return index_select(dy, axis, index); }
  Arguments arguments() const override {
    return {{"shape", shape}, {"axis", axis}, {"index", index}};
  }
  Shape shape;
  int axis;
  Tensor index;
};

}  // namespace ops

Var gather(const Operand& x, Index axis, const Tensor& index) {
  return apply(ops::Gather(normalize_axis(axis, x->rank(), "gather"), index), x);
}
Var scatter_add(const Operand& x, Index axis, const Tensor& index, const Var& source) {
  return apply(ops::ScatterAdd(normalize_axis(axis, x->rank(), "scatter_add"), index), x, source);
}
Var index_select(const Operand& x, Index axis, const Tensor& index) {
  return apply(ops::IndexSelect(normalize_axis(axis, x->rank(), "index_select"), index), x);
}
Var index_add(const Shape& shape, Index axis, const Tensor& index, const Operand& source) {
  return apply(ops::IndexAdd(shape, normalize_axis(axis, shape.rank(), "index_add"), index),
               source);
}

Var index(const Operand& x, const std::vector<Tensor>& indices) {
  const int rank = x->rank();
  std::vector<Tensor> arrays;
  Dims axes;
  Index axis = 0;
  for (const Tensor& array : indices) {
    const bool mask = array.defined() && array.dtype() == DType::Bool;
    const Index next = axis + (mask ? array.rank() : 1);
    if (next > rank || next == axis)
      throw IndexError("index", "more indices than x has axes, or a mask of none",
                       {{"x", x->value()}, {"index", array}});
    if (mask)
      for (Index a = axis; a < next; ++a)
        if (array.size(a - axis) != x->size(a))
          throw ShapeError("index",
                           "a mask has x's extents, from axis " + std::to_string(axis) + " on",
                           {{"x", x->value()}, {"mask", array}});
    const std::vector<Tensor> places = mask ? nonzero(array) : std::vector<Tensor>{array};
    for (const Tensor& p : places) {
      if (p.defined()) {
        arrays.push_back(p);
        axes.push_back(axis);
      }
      ++axis;
    }
  }
  if (arrays.empty()) return reshape(x, x->shape());
  // The axes of the arrays, side by side at `position` as one axis.
  const bool adjacent = axes.back() - axes[0] + 1 == axes.rank();
  const int position = adjacent ? static_cast<int>(axes[0]) : 0;
  Dims order, merged, extents;
  for (Index a : axes) extents.push_back(x->size(a));
  for (int a = 0; a < rank; ++a)
    if (std::ranges::find(axes, a) == axes.end()) {
      order.push_back(a);
      merged.push_back(x->size(a));
    }
  for (int k = axes.rank(); k-- > 0;) order.insert(position, axes[k]);
  merged.insert(position, numel_of(extents));
  CallSite site(x.where());
  const Var moved = adjacent ? *x : permute(x, order);
  return index_select(reshape(moved, merged), position, ravel_index(arrays, extents));
}

// The order is found on values; what flows back goes to where each value came from.
OrderedVar sort(const Operand& x, Index axis, bool descending) {
  Tensor indices = sort(x->value(), axis, descending).indices;
  return {gather(x, axis, indices), indices};
}
OrderedVar top_k(const Operand& x, Index k, Index axis) {
  Tensor indices = top_k(x->value(), k, axis).indices;
  return {gather(x, axis, indices), indices};
}

}  // namespace glim
