// Element-wise arithmetic. Operands of one shape; where shapes differ, broadcast_to comes first and
// is an op of its own, so that the sum in its backward can be seen.
#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

struct Pair {
  Var a, b;
};

// Both operands in their common shape.
Pair broadcast(const Var& a, const Var& b, std::string_view op, const Where& where) {
  if (a.shape() == b.shape()) return {a, b};
  try {
    Shape shape = broadcast_shapes(a.shape(), b.shape(), op);
    return {a.shape() == shape ? a : broadcast_to(a, shape, where),
            b.shape() == shape ? b : broadcast_to(b, shape, where)};
  } catch (ShapeError& e) {
    if (e.operand_count() == 0) {
      e.add_operand("a", a.value().kind());
      e.add_operand("b", b.value().kind());
      Tape* tape = Tape::current();
      for (std::size_t i = 0; i < 2; ++i) {
        const Var& v = i ? b : a;
        int node = tape ? tape->node_of(v) : -1;
        e.set_operand_path(i, node >= 0 ? tape->path(node) : v.name());
      }
      std::string scope = Scope::path();
      e.set_place(scope.empty() ? "" : scope + "." + std::string(op), to_string(where));
    }
    throw;
  }
}

//   y = a + b      da = dy      db = dy
struct Add final : Op {
  enum Input { A, B };
  std::string_view name() const override { return "add"; }
  Tensor forward(const Tensor& a, const Tensor& b) { return add(a, b); }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (needs_grad(A)) d[A] = dy;
    if (needs_grad(B)) d[B] = dy;
    return d;
  }
};

//   y = a - b      da = dy      db = -dy
struct Sub final : Op {
  enum Input { A, B };
  std::string_view name() const override { return "sub"; }
  Tensor forward(const Tensor& a, const Tensor& b) { return sub(a, b); }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (needs_grad(A)) d[A] = dy;
    if (needs_grad(B)) d[B] = neg(dy);
    return d;
  }
};

//   y = a b      da = dy b      reads b
//                db = dy a      reads a
struct Mul final : Op {
  enum Input { A, B };
  std::string_view name() const override { return "mul"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    if (needs_grad(B)) save(A);
    if (needs_grad(A)) save(B);
    return mul(a, b);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (needs_grad(A)) d[A] = mul(dy, saved(B));
    if (needs_grad(B)) d[B] = mul(dy, saved(A));
    return d;
  }
};

//   y = a / b      da = dy / b          reads b
//                  db = -dy y / b       reads b, y
struct Div final : Op {
  enum Input { A, B };
  std::string_view name() const override { return "div"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    save(B);
    if (needs_grad(B)) save_output();
    return div(a, b);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (needs_grad(A)) d[A] = div(dy, saved(B));
    if (needs_grad(B)) d[B] = neg(div(mul(dy, output()), saved(B)));
    return d;
  }
};

//   y = max(a, b) or min(a, b); where a = b the gradient is shared half and half, one choice
//   among the subgradients
struct Extremum : Op {
  enum Input { A, B };
  explicit Extremum(bool largest) : largest_(largest) {}
  Tensor forward(const Tensor& a, const Tensor& b) {
    save(A);
    save(B);
    return largest_ ? maximum(a, b) : minimum(a, b);
  }
  Grads backward(const Var& dy) const override {
    Tensor a = saved(A).value(), b = saved(B).value();
    // Share of a: 1 where it is taken, ½ where equal, 0 elsewhere; never differentiated.
    Tensor half = mul(equal(a, b).to(dy.dtype()), 0.5);
    Grads d;
    if (needs_grad(A))
      d[A] = mul(dy, Var(add((largest_ ? greater(a, b) : less(a, b)).to(dy.dtype()), half)));
    if (needs_grad(B))
      d[B] = mul(dy, Var(add((largest_ ? less(a, b) : greater(a, b)).to(dy.dtype()), half)));
    return d;
  }

 private:
  bool largest_;
};
struct Maximum final : Extremum {
  Maximum() : Extremum(true) {}
  std::string_view name() const override { return "maximum"; }
};
struct Minimum final : Extremum {
  Minimum() : Extremum(false) {}
  std::string_view name() const override { return "minimum"; }
};

//   y = x + c      dx = dy
struct Shift final : Op {
  enum Input { X };
  explicit Shift(double c = 0) : c_(c) {}
  std::string_view name() const override { return "shift"; }
  Tensor forward(const Tensor& x) { return add(x, c_); }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[X] = dy;
    return d;
  }

 private:
  double c_;
};

//   y = c x      dx = c dy
struct Scale final : Op {
  enum Input { X };
  explicit Scale(double c = 1) : c_(c) {}
  std::string_view name() const override { return "scale"; }
  Tensor forward(const Tensor& x) { return mul(x, c_); }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[X] = mul(dy, c_);
    return d;
  }

 private:
  double c_;
};

//   y = -x      dx = -dy
struct Neg final : Op {
  enum Input { X };
  std::string_view name() const override { return "neg"; }
  Tensor forward(const Tensor& x) { return neg(x); }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[X] = neg(dy);
    return d;
  }
};

//   y = x^p      dx = p x^(p-1) dy      reads x; p = 0 has gradient 0 everywhere
struct Pow final : Op {
  enum Input { X };
  explicit Pow(double p = 1) : p_(p) {}
  std::string_view name() const override { return "pow"; }
  Tensor forward(const Tensor& x) {
    save(X);
    return pow(x, p_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[X] = p_ == 0 ? mul(dy, 0.0) : mul(dy, mul(pow(saved(X), p_ - 1), p_));
    return d;
  }

 private:
  double p_;
};

//   y = condition ? a : b      da = condition ? dy : 0      db = condition ? 0 : dy
struct Choose final : Op {
  enum Input { A, B };
  Choose() = default;
  explicit Choose(Tensor condition) : condition_(std::move(condition)) {}
  std::string_view name() const override { return "where"; }
  Tensor forward(const Tensor& a, const Tensor& b) { return where(condition_, a, b); }
  Grads backward(const Var& dy) const override {
    Grads d;
    Var zero(scalar(0, dy.dtype()));
    if (needs_grad(A)) d[A] = where(condition_, dy, zero);
    if (needs_grad(B)) d[B] = where(condition_, zero, dy);
    return d;
  }

 private:
  Tensor condition_;
};

template <class OpT>
Var binary(const Var& a, const Var& b, OpT op, const Where& where) {
  if (a.shape() == b.shape()) return apply(where, std::move(op), a, b);
  auto [x, y] = broadcast(a, b, op.name(), where);
  return apply(where, std::move(op), x, y);
}

}  // namespace

Var add(const Var& a, const Var& b, Where where) { return binary(a, b, Add{}, where); }
Var sub(const Var& a, const Var& b, Where where) { return binary(a, b, Sub{}, where); }
Var mul(const Var& a, const Var& b, Where where) { return binary(a, b, Mul{}, where); }
Var div(const Var& a, const Var& b, Where where) { return binary(a, b, Div{}, where); }
Var maximum(const Var& a, const Var& b, Where where) { return binary(a, b, Maximum{}, where); }
Var minimum(const Var& a, const Var& b, Where where) { return binary(a, b, Minimum{}, where); }
Var add(const Var& x, double c, Where where) { return apply(where, Shift(c), x); }
Var mul(const Var& x, double c, Where where) { return apply(where, Scale(c), x); }
Var neg(const Var& x, Where where) { return apply(where, Neg{}, x); }
Var pow(const Var& x, double exponent, Where where) { return apply(where, Pow(exponent), x); }

Var where(const Tensor& condition, const Var& a, const Var& b, Where where) {
  auto [x, y] = broadcast(a, b, "where", where);
  Shape shape = broadcast_shapes(condition.shape(), x.shape(), "where");
  if (x.shape() != shape) {
    x = broadcast_to(x, shape, where);
    y = broadcast_to(y, shape, where);
  }
  return apply(where, Choose(condition), x, y);
}

}  // namespace glim
