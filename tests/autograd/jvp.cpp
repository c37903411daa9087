// Products with Jacobian and Hessian, gradients of each example, and gradients of several outputs at once.
#include "autograd/products.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_jvp {

using namespace glim;

Tensor draw(const Shape& shape, std::uint64_t stream) {
  return normal(shape, 0, 1, {7, stream}, DType::Float64);
}

// A small network: y (4, 2) of x (4, 3) and w (2, 3).
Var network(const Var& x, const Var& w) {
  return tanh(matmul(x, transpose(w))) * sum(exp(0.3 * x), {1}, true);
}

TEST_CASE("jvp is the difference quotient, and the transpose of grad", "[autograd][products]") {
  const Var x = Var::leaf(draw({4, 3}, 1)), w = Var::leaf(draw({2, 3}, 2));
  const Tensor vx = draw({4, 3}, 3), vw = draw({2, 3}, 4), u = draw({4, 2}, 5);
  Tape tape;
  const Var y = network(x, w);
  const Tensor jv = jvp(tape, {y}, {x, w}, {vx, vw})[0].value();
  const double h = 1e-6;
  auto at = [&](double step) {
    return network(x.value() + step * vx, w.value() + step * vw).value();
  };
  CHECK(distance(jv, div(at(h) - at(-h), 2 * h)) < 1e-8);
  const std::vector<Var> transposed = tape.grad(y, {x, w}, u, {.retain = true});
  const double there = dot(u, jv);
  CHECK(std::abs(there - dot(transposed[0].value(), vx) - dot(transposed[1].value(), vw)) <
        1e-13 * std::abs(there));
}

TEST_CASE("jvp of several outputs, one of which depends on nothing", "[autograd][products]") {
  const Var x = Var::leaf(tensor({1, 2, 3}, DType::Float64));
  Tape tape;
  const std::vector<Var> jv = jvp(tape, {x * x, Var(tensor({5, 6}, DType::Float64)), 2 * x}, {x},
                                  {tensor({1, 0, -1}, DType::Float64)});
  CHECK(close(jv[0].value(), tensor({2, 0, -6}, DType::Float64), 1e-15));
  CHECK(close(jv[1].value(), tensor({0, 0}, DType::Float64), 0));
  CHECK(close(jv[2].value(), tensor({2, 0, -2}, DType::Float64), 1e-15));
}

TEST_CASE("hvp is the Hessian times v", "[autograd][products]") {
  // L = ½ xᵀ A x + Σ x⁴/12:  H = A + diag(x²), A symmetric
  const Tensor half = draw({3, 3}, 6), a = half + transpose(half), v = draw({3}, 7);
  const Var x = Var::leaf(draw({3}, 8));
  Tape tape;
  const Var loss = 0.5 * sum(x * matmul(Var(a), x)) + sum(x * x * x * x) / 12;
  const Tensor hv = hvp(tape, loss, {x}, {v})[0].value();
  const Tensor expected = sum(a * v, {1}) + x.value() * x.value() * v;
  CHECK(distance(hv, expected) < 1e-13);
}

TEST_CASE("gradients of each example", "[autograd][products]") {
  const Var w = Var::leaf(draw({2, 3}, 9));
  const Tensor x = draw({4, 3}, 10);
  Tape tape;
  const Var losses = sum(network(x, w), {1});
  Tensor total = zeros({2, 3}, DType::Float64);
  Index seen = 0;
  each_gradient(tape, losses, {w}, [&](Index i, const std::vector<Var>& gradients) {
    CHECK(i == seen++);
    Tape alone;
    const Var row = sum(network(narrow(x, 0, i, 1), w));
    CHECK(distance(gradients[0].value(), alone.grad(row, {w})[0].value()) < 1e-14);
    add_(total, gradients[0].value());
  });
  CHECK(seen == 4);
  CHECK(distance(total, tape.grad(sum(losses), {w})[0].value()) < 1e-13);
}

TEST_CASE("gradients of several outputs are those of their sum", "[autograd][products]") {
  const Var x = Var::leaf(draw({3}, 11));
  const Tensor u = draw({3}, 12), v = draw({3}, 13);
  Tape tape;
  const Var y = x * x, z = sin(y);
  const Var sum_of = sum(y * u) + sum(z * v) + sum(y * v);
  const Tensor expected = tape.grad(sum_of, {x}, {}, {.retain = true})[0].value();
  CHECK(distance(tape.grad({y, z, y}, {x}, {u, v, v}, {.retain = true})[0].value(), expected) <
        1e-14);
  CHECK_THROWS_AS(tape.grad({y, z}, {x}, {u}), ShapeError);
}

TEST_CASE("directions of another shape are refused", "[autograd][products]") {
  const Var x = Var::leaf(draw({3}, 14));
  Tape tape;
  const Var y = x * x;
  CHECK_THROWS_AS(jvp(tape, {y}, {x}, {}), ShapeError);
  CHECK_THROWS_AS(jvp(tape, {y}, {x}, {draw({2}, 15)}), ShapeError);
  CHECK_THROWS_AS(hvp(tape, sum(y), {x}, {draw({3}, 16).to(DType::Float32)}), ShapeError);
  CHECK_THROWS_AS(hvp(tape, y, {x}, {draw({3}, 17)}), ShapeError);
}

}  // namespace test_jvp
