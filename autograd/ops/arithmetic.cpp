// Element-wise arithmetic. Operands of one shape; where shapes differ, broadcast_to comes first and
// is an op of its own, so that the sum in its gradient can be seen.
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace ops {

struct Add final : Binary<Add> {
  static constexpr Formula formula{"add", "y = a + b", {"da = dy", "db = dy"}};
  Tensor forward(const Tensor& a, const Tensor& b) { return add(a, b); }
  Var da(const Var& dy) const { return dy; }
  Var db(const Var& dy) const { return dy; }
};

struct Sub final : Binary<Sub> {
  static constexpr Formula formula{"sub", "y = a - b", {"da = dy", "db = -dy"}};
  Tensor forward(const Tensor& a, const Tensor& b) { return sub(a, b); }
  Var da(const Var& dy) const { return dy; }
  Var db(const Var& dy) const { return -dy; }
};

struct Mul final : Binary<Mul> {
  static constexpr Formula formula{"mul", "y = a ⊙ b", {"da = dy ⊙ b", "db = dy ⊙ a"}};
  Tensor forward(const Tensor& a, const Tensor& b) {
    if (needs_grad(B)) save(A);
    if (needs_grad(A)) save(B);
    return mul(a, b);
  }
  Var da(const Var& dy) const { return dy * b(); }
  Var db(const Var& dy) const { return dy * a(); }
};

struct Div final : Binary<Div> {
  static constexpr Formula formula{"div", "y = a / b", {"da = dy / b", "db = -dy ⊙ y / b"}};
  Tensor forward(const Tensor& a, const Tensor& b) {
    save(B);
    if (needs_grad(B)) save_output();
    return div(a, b);
  }
  Var da(const Var& dy) const { return dy / b(); }
  Var db(const Var& dy) const { return -(dy * y() / b()); }
};

// 0 where the other operand is taken, dy/2 where both are equal (one choice among the subgradients), else
// dy: also where y is NaN.
Var share(const Var& dy, const Tensor& other, const Tensor& both) {
  return where(other, scalar(0, dy.dtype()), where(both, 0.5 * dy, dy));
}

// y = a or b, where `taken` says that it is b.
template <class Self, Tensor (*f)(const Tensor&, const Tensor&),
          Tensor (*taken)(const Tensor&, const Tensor&)>
struct OneOfTwo : Binary<Self> {
  Tensor forward(const Tensor& a, const Tensor& b) {
    this->save(this->A, this->B);
    return f(a, b);
  }
  Var da(const Var& dy) const { return share_of(this->a().value(), this->b().value(), dy); }
  Var db(const Var& dy) const { return share_of(this->b().value(), this->a().value(), dy); }
  static Var share_of(const Tensor& x, const Tensor& other, const Var& dy) {
    return share(dy, taken(x, other), equal(x, other));
  }
};

struct Maximum final : OneOfTwo<Maximum, maximum, less> {
  static constexpr Formula formula{"maximum",
                                   "y = max(a, b)",
                                   {"da = 0 where a < b, dy/2 where a = b, else dy",
                                    "db = 0 where b < a, dy/2 where a = b, else dy"}};
};

struct Minimum final : OneOfTwo<Minimum, minimum, greater> {
  static constexpr Formula formula{"minimum",
                                   "y = min(a, b)",
                                   {"da = 0 where a > b, dy/2 where a = b, else dy",
                                    "db = 0 where b > a, dy/2 where a = b, else dy"}};
};

struct AddNumber final : Unary<AddNumber> {
  static constexpr Formula formula{"shift", "y = x + c", {"dx = dy"}};
  explicit AddNumber(double shift) : c(shift) {}
  Tensor forward(const Tensor& x) { return add(x, c); }
  Var dx(const Var& dy) const { return dy; }
  Arguments arguments() const override { return {{"c", c}}; }
  double c;
};

struct MulNumber final : Unary<MulNumber> {
  static constexpr Formula formula{"scale", "y = c x", {"dx = c dy"}};
  explicit MulNumber(double factor) : c(factor) {}
  Tensor forward(const Tensor& x) { return mul(x, c); }
  Var dx(const Var& dy) const { return c * dy; }
  Arguments arguments() const override { return {{"c", c}}; }
  double c;
};

struct DivNumber final : Unary<DivNumber> {
  static constexpr Formula formula{"divide", "y = x / c", {"dx = dy / c"}};
  explicit DivNumber(double divisor) : c(divisor) {}
  Tensor forward(const Tensor& x) { return div(x, c); }
  Var dx(const Var& dy) const { return dy / c; }
  Arguments arguments() const override { return {{"c", c}}; }
  double c;
};

struct Neg final : Unary<Neg> {
  static constexpr Formula formula{"neg", "y = -x", {"dx = -dy"}};
  Tensor forward(const Tensor& x) { return neg(x); }
  Var dx(const Var& dy) const { return -dy; }
};

struct PowNumber final : Unary<PowNumber> {
  static constexpr Formula formula{"pow", "y = x^p", {"dx = p x^(p-1) ⊙ dy, 0 for p = 0"}};
  explicit PowNumber(double exponent) : p(exponent) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return pow(x, p);
  }
  Var dx(const Var& dy) const {
    return p == 0 ? Var(zeros(dy.shape(), dy.dtype())) : dy * (p * pow(x(), p - 1));
  }
  Arguments arguments() const override { return {{"p", p}}; }
  double p;
};

struct Pow final : Binary<Pow> {
  static constexpr Formula formula{
      "power",
      "y = a^b",
      {"da = dy ⊙ b ⊙ a^(b-1), 0 where b = 0", "db = dy ⊙ y ⊙ ln a, 0 where a = 0 and b >= 0"}};
  Tensor forward(const Tensor& a, const Tensor& b) {
    save(A, B);
    if (needs_grad(B)) save_output();
    return pow(a, b);
  }
  Var da(const Var& dy) const {
    Var exponent = b() - 1;
    return dy * (b() * pow(where(equal(b().value(), 0), not_zero(), a()), exponent));
  }
  Var db(const Var& dy) const {
    Var log_a = log(where(less(b().value(), 0), a(), not_zero()));
    return dy * y() * log_a;
  }
  // a, and 1 where a is 0: there 0 · 0^-1 and 0 · ln 0 would be NaN, and are 0.
  Var not_zero() const { return where(equal(a().value(), 0), scalar(1, a().dtype()), a()); }
};

struct Select final : Binary<Select> {
  static constexpr Formula formula{
      "where", "y = condition ? a : b", {"da = condition ? dy : 0", "db = condition ? 0 : dy"}};
  explicit Select(Tensor c) : condition(std::move(c)) {}
  Tensor forward(const Tensor& a, const Tensor& b) { return where(condition, a, b); }
  Var da(const Var& dy) const { return where(condition, dy, Var(scalar(0, dy.dtype()))); }
  Var db(const Var& dy) const { return where(condition, scalar(0, dy.dtype()), dy); }
  Arguments arguments() const override { return {{"condition", condition}}; }
  Tensor condition;
};

// Both operands in their common shape; without one as they are, which the op's forward refuses.
std::pair<Var, Var> broadcast(const Operand& a, const Var& b) {
  CallSite site(a.where());
  try {
    Shape shape = broadcast_shapes(a->shape(), b.shape(), "broadcast");
    return {a->shape() == shape ? *a : broadcast_to(a, shape),
            b.shape() == shape ? b : broadcast_to(b, shape)};
  } catch (const ShapeError&) {
    return {*a, b};
  }
}

template <class OpT>
Var binary(const Operand& a, const Var& b) {
  if (a->shape() == b.shape()) return apply(OpT{}, a, b);
  const auto [x, y] = broadcast(a, b);
  return apply(OpT{}, Operand(x, a.where()), y);
}

}  // namespace ops

Var add(const Operand& a, const Var& b) { return ops::binary<ops::Add>(a, b); }
Var operator+(const Operand& a, const Var& b) { return add(a, b); }
Var sub(const Operand& a, const Var& b) { return ops::binary<ops::Sub>(a, b); }
Var mul(const Operand& a, const Var& b) { return ops::binary<ops::Mul>(a, b); }
Var div(const Operand& a, const Var& b) { return ops::binary<ops::Div>(a, b); }
Var maximum(const Operand& a, const Var& b) { return ops::binary<ops::Maximum>(a, b); }
Var minimum(const Operand& a, const Var& b) { return ops::binary<ops::Minimum>(a, b); }
Var add(const Operand& x, double c) { return apply(ops::AddNumber(c), x); }
Var mul(const Operand& x, double c) { return apply(ops::MulNumber(c), x); }
Var div(const Operand& x, double c) { return apply(ops::DivNumber(c), x); }
Var neg(const Operand& x) { return apply(ops::Neg{}, x); }
Var pow(const Operand& x, double exponent) { return apply(ops::PowNumber(exponent), x); }
Var pow(const Operand& x, const Var& exponent) { return ops::binary<ops::Pow>(x, exponent); }
Var pow(double base, const Operand& exponent) {
  CallSite site(exponent.where());
  return pow(Var(scalar(base, exponent->dtype())), exponent);
}
Var sub(double c, const Operand& x) {
  CallSite site(x.where());
  return -x + c;
}
Var div(double c, const Operand& x) {
  CallSite site(x.where());
  return Var(scalar(c, x->dtype())) / x;
}

Var where(const Tensor& condition, const Operand& a, const Var& b) {
  CallSite site(a.where());
  auto [x, y] = ops::broadcast(a, b);
  Shape shape = x.shape();
  if (shape == y.shape()) shape = broadcast_shapes(condition.shape(), shape, "where");
  if (x.shape() != shape) {
    x = broadcast_to(x, shape);
    y = broadcast_to(y, shape);
  }
  return apply(ops::Select(condition), x, y);
}

}  // namespace glim
