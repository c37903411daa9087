// Selecting and adding by index. Index tensors are constants.
#include "tensor/ops/index.hpp"

#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

//   y[.., j, ..] = x[.., index[.., j, ..], ..]      dx = zeros, += dy at index
struct Gather final : Op {
  Gather() = default;
  Gather(int axis, Tensor index) : axis_(axis), index_(std::move(index)) {}
  std::string_view name() const override { return "gather"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return gather(x, axis_, index_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = scatter_add(Var(zeros(from_, dy.dtype())), axis_, index_, dy);
    return d;
  }

 private:
  int axis_ = 0;
  Tensor index_;
  Shape from_;
};

//   y = x, += source at index      dx = dy      dsource = dy gathered at index
struct ScatterAdd final : Op {
  enum Input { X, Source };
  ScatterAdd() = default;
  ScatterAdd(int axis, Tensor index) : axis_(axis), index_(std::move(index)) {}
  std::string_view name() const override { return "scatter_add"; }
  Tensor forward(const Tensor& x, const Tensor& source) {
    return scatter_add(x, axis_, index_, source);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (needs_grad(X)) d[X] = dy;
    if (needs_grad(Source)) d[Source] = gather(dy, axis_, index_);
    return d;
  }

 private:
  int axis_ = 0;
  Tensor index_;
};

//   y = rows index[i] of x      dx = zeros, row index[i] += dy row i
struct IndexSelect final : Op {
  IndexSelect() = default;
  IndexSelect(int axis, Tensor index) : axis_(axis), index_(std::move(index)) {}
  std::string_view name() const override { return "index_select"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return index_select(x, axis_, index_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (recording()) {
      d[0] = index_add(from_, axis_, index_, dy);
    } else {
      d.add_to(0, [this, up = dy.value()](const Tensor& total) {
        if (total.is_contiguous())
          index_add_(total, axis_, index_, up);
        else
          add_(total, index_add(from_, axis_, index_, up));
      });
    }
    return d;
  }

 private:
  int axis_ = 0;
  Tensor index_;
  Shape from_;
};

//   y = zeros, row index[i] += source row i      dsource = rows index[i] of dy
struct IndexAdd final : Op {
  IndexAdd() = default;
  IndexAdd(Shape shape, int axis, Tensor index)
      : shape_(shape), axis_(axis), index_(std::move(index)) {}
  std::string_view name() const override { return "index_add"; }
  Tensor forward(const Tensor& source) { return index_add(shape_, axis_, index_, source); }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = index_select(dy, axis_, index_);
    return d;
  }

 private:
  Shape shape_;
  int axis_ = 0;
  Tensor index_;
};

}  // namespace

Var gather(const Var& x, Index axis, const Tensor& index, Where where) {
  return apply(where, Gather(normalize_axis(axis, x.rank(), "gather"), index), x);
}
Var scatter_add(const Var& x, Index axis, const Tensor& index, const Var& source, Where where) {
  return apply(where, ScatterAdd(normalize_axis(axis, x.rank(), "scatter_add"), index), x, source);
}
Var index_select(const Var& x, Index axis, const Tensor& index, Where where) {
  return apply(where, IndexSelect(normalize_axis(axis, x.rank(), "index_select"), index), x);
}
Var index_add(const Shape& shape, Index axis, const Tensor& index, const Var& source, Where where) {
  return apply(where, IndexAdd(shape, normalize_axis(axis, shape.rank(), "index_add"), index),
               source);
}

// The order is found on values; what flows back goes to where each value came from.
OrderedVar sort(const Var& x, Index axis, bool descending, Where where) {
  Tensor indices = sort(x.value(), axis, descending).indices;
  return {gather(x, axis, indices, where), indices};
}
OrderedVar top_k(const Var& x, Index k, Index axis, Where where) {
  Tensor indices = top_k(x.value(), k, axis).indices;
  return {gather(x, axis, indices, where), indices};
}

}  // namespace glim
