// Views, joining and cutting. Forward moves no element where a view will do.
#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

//   y = x under another shape      dx = dy under x's shape
struct Reshape final : Op {
  explicit Reshape(Shape shape = {}) : shape_(shape) {}
  std::string_view name() const override { return "reshape"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return x.reshape(shape_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = reshape(dy, from_);
    return d;
  }

 private:
  Shape shape_, from_;
};

//   y = x with axis axes[i] in place i      dx = dy permuted back
struct Permute final : Op {
  explicit Permute(Dims axes = {}) : axes_(axes) {}
  std::string_view name() const override { return "permute"; }
  Tensor forward(const Tensor& x) { return x.permute(axes_); }
  Grads backward(const Var& dy) const override {
    Dims inverse = axes_;
    for (int i = 0; i < axes_.rank(); ++i)
      inverse[normalize_axis(axes_[i], axes_.rank(), "permute")] = i;
    Grads d;
    d[0] = permute(dy, inverse);
    return d;
  }

 private:
  Dims axes_;
};

//   y = x repeated along new axes and axes of extent 1      dx = Σ dy over the repeats
struct BroadcastTo final : Op {
  explicit BroadcastTo(Shape shape = {}) : shape_(shape) {}
  std::string_view name() const override { return "broadcast_to"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return x.expand(shape_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = sum_to(dy, from_);
    return d;
  }

 private:
  Shape shape_, from_;
};

//   y = Σ x over the axes in which `shape` has extent 1 or none      dx = dy repeated
struct SumTo final : Op {
  explicit SumTo(Shape shape = {}) : shape_(shape) {}
  std::string_view name() const override { return "sum_to"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return sum_to(x, shape_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = broadcast_to(dy, from_);
    return d;
  }

 private:
  Shape shape_, from_;
};

//   y = x[start : stop : step] along the axis      dx = zeros with dy at these places
struct Slice final : Op {
  Slice() = default;
  Slice(int axis, Index start, Index stop, Index step)
      : axis_(axis), start_(start), stop_(stop), step_(step) {}
  std::string_view name() const override { return "slice"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return x.slice(axis_, start_, stop_, step_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (recording()) {
      d[0] = unslice(dy, from_, axis_, start_, step_);
    } else {
      d.add_to(0, [this, up = dy.value()](const Tensor& total) {
        if (up.numel() > 0) add_(total.slice(axis_, start_, stop_, step_), up);
      });
    }
    return d;
  }

 private:
  int axis_ = 0;
  Index start_ = 0, stop_ = 0, step_ = 1;
  Shape from_;
};

//   y = zeros of `shape` with x at start, start + step, ...      dx = dy there
struct Unslice final : Op {
  Unslice() = default;
  Unslice(Shape shape, int axis, Index start, Index step)
      : shape_(shape), axis_(axis), start_(start), step_(step) {}
  std::string_view name() const override { return "unslice"; }
  Tensor forward(const Tensor& x) {
    Tensor y = zeros(shape_, x.dtype());
    length_ = x.shape()[axis_];
    region(y).copy_(x);
    return y;
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = slice(dy, axis_, start_, stop(), step_);
    return d;
  }

 private:
  Index stop() const { return length_ ? start_ + (length_ - 1) * step_ + 1 : start_; }
  Tensor region(const Tensor& y) const { return y.slice(axis_, start_, stop(), step_); }
  Shape shape_;
  int axis_ = 0;
  Index start_ = 0, step_ = 1, length_ = 0;
};

//   y = parts one after the other along the axis      d(part) = its section of dy
struct Concatenate final : Op {
  explicit Concatenate(int axis = 0) : axis_(axis) {}
  std::string_view name() const override { return "concatenate"; }
  Tensor forward(const std::vector<Tensor>& parts) {
    for (const Tensor& p : parts) lengths_.push_back(p.size(axis_));
    return concatenate(parts, axis_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    Index start = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      if (needs_grad(i)) d[i] = slice(dy, axis_, start, start + lengths_[i]);
      start += lengths_[i];
    }
    return d;
  }

 private:
  int axis_;
  std::vector<Index> lengths_;
};

//   y = x where column - row <= k (tril) or >= k (triu), else 0      dx = the same of dy
struct Triangle : Op {
  Triangle(bool lower, Index diagonal) : lower_(lower), diagonal_(diagonal) {}
  Tensor forward(const Tensor& x) { return lower_ ? tril(x, diagonal_) : triu(x, diagonal_); }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = lower_ ? tril(dy, diagonal_) : triu(dy, diagonal_);
    return d;
  }

 private:
  bool lower_;
  Index diagonal_;
};
struct Tril final : Triangle {
  explicit Tril(Index diagonal = 0) : Triangle(true, diagonal) {}
  std::string_view name() const override { return "tril"; }
};
struct Triu final : Triangle {
  explicit Triu(Index diagonal = 0) : Triangle(false, diagonal) {}
  std::string_view name() const override { return "triu"; }
};

}  // namespace

Var reshape(const Var& x, const Shape& shape, Where where) {
  return apply(where, Reshape(shape), x);
}
Var permute(const Var& x, const Dims& axes, Where where) { return apply(where, Permute(axes), x); }

Var transpose(const Var& x, Index a, Index b, Where where) {
  Dims axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[normalize_axis(a, x.rank(), "transpose")],
            axes[normalize_axis(b, x.rank(), "transpose")]);
  return permute(x, axes, where);
}

Var broadcast_to(const Var& x, const Shape& shape, Where where) {
  return apply(where, BroadcastTo(shape), x);
}
Var sum_to(const Var& x, const Shape& shape, Where where) { return apply(where, SumTo(shape), x); }

Var slice(const Var& x, Index axis, Index start, Index stop, Index step, Where where) {
  int a = normalize_axis(axis, x.rank(), "slice");
  Index n = x.shape()[a];
  if (start < 0) start = std::max<Index>(0, start + n);
  if (stop < 0) stop += n;
  return apply(where, Slice(a, std::min(start, n), std::max<Index>(stop, 0), step), x);
}

Var unslice(const Var& x, const Shape& shape, Index axis, Index start, Index step, Where where) {
  int a = normalize_axis(axis, shape.rank(), "unslice");
  bool fits = x.rank() == shape.rank() && start >= 0 && step >= 1;
  for (int i = 0; i < shape.rank() && fits; ++i) {
    Index n = x.shape()[i];
    // start + (n - 1) step < shape[i], without a product beyond int64
    fits = i != a ? n == shape[i]
                  : n == 0 || (start < shape[i] && n - 1 <= (shape[i] - 1 - start) / step);
  }
  if (!fits)
    throw with_operands(ShapeError("unslice", "x does not fit into " + to_string(shape)),
                        Operand("x", x.value()));
  return apply(where, Unslice(shape, a, start, step), x);
}

Var narrow(const Var& x, Index axis, Index start, Index length, Where where) {
  x.value().narrow(axis, start, length);  // IndexError where slice would clip
  return slice(x, axis, start, start + length, 1, where);
}

Var select(const Var& x, Index axis, Index index, Where where) {
  int a = normalize_axis(axis, x.rank(), "select");
  x.value().select(a, index);  // IndexError outside the extent
  if (index < 0) index += x.shape()[a];
  return squeeze(slice(x, a, index, index + 1, 1, where), a, where);
}

Var squeeze(const Var& x, Index axis, Where where) {
  return reshape(x, x.value().squeeze(axis).shape(), where);
}
Var unsqueeze(const Var& x, Index axis, Where where) {
  return reshape(x, x.value().unsqueeze(axis).shape(), where);
}

Var concatenate(const std::vector<Var>& parts, Index axis, Where where) {
  if (parts.empty()) throw ValueError("concatenate", "needs at least one tensor");
  return apply(where, Concatenate(normalize_axis(axis, parts[0].rank(), "concatenate")), parts);
}

Var stack(const std::vector<Var>& parts, Index axis, Where where) {
  if (parts.empty()) throw ValueError("stack", "needs at least one tensor");
  int a = normalize_axis(axis, parts[0].rank() + 1, "stack");
  std::vector<Var> rows;
  for (const Var& p : parts) {
    if (p.shape() != parts[0].shape())
      throw with_operands(ShapeError("stack", "shapes differ"), Operand("first", parts[0].value()),
                          Operand("part", p.value()));
    rows.push_back(unsqueeze(p, a, where));
  }
  return concatenate(rows, a, where);
}

std::vector<Var> split(const Var& x, Index axis, const std::vector<Index>& lengths, Where where) {
  split(x.value(), axis, lengths);  // ShapeError unless the lengths add up
  std::vector<Var> parts;
  Index start = 0;
  for (Index n : lengths) {
    parts.push_back(narrow(x, axis, start, n, where));
    start += n;
  }
  return parts;
}

Var tril(const Var& x, Index diagonal, Where where) { return apply(where, Tril(diagonal), x); }
Var triu(const Var& x, Index diagonal, Where where) { return apply(where, Triu(diagonal), x); }

}  // namespace glim
