// Lanczos' method, and the Hessian of a loss as an operator.
#include "autograd/curvature.hpp"

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_curvature {

using namespace glim;

Tensor diagonal() { return tensor({-3, 0.5, 1, 2, 2.5, 4, 0.1, -0.2, 0.3, 5}, DType::Float64); }

TEST_CASE("lanczos finds both ends, and an eigenvalue's distance is below its residual",
          "[autograd][curvature]") {
  const Tensor d = diagonal();
  auto product = [&](const Tensor& v) { return d * v; };
  const Ritz all = lanczos(10, product, {.largest = 3, .lowest = 2, .tolerance = 1e-12});
  REQUIRE(all.products() >= 4);
  CHECK(all.values.back() == Approx(5).epsilon(1e-12));
  CHECK(all.values[all.values.size() - 2] == Approx(4).epsilon(1e-12));
  CHECK(all.values.front() == Approx(-3).epsilon(1e-12));
  const Ritz few = lanczos(10, product, {.tolerance = 0.3});
  CHECK(few.products() < all.products());
  CHECK(std::abs(few.values.back() - 5) <= few.residuals.back());
  double weights = 0;
  for (double w : few.weights) weights += w;
  CHECK(weights == Approx(1).epsilon(1e-12));
}

TEST_CASE("lanczos waits for the largest value where the largest by size is negative",
          "[autograd][curvature]") {
  std::vector<double> values{-100};
  for (int i = 1; i <= 60; ++i) values.push_back(i / 60.0);
  const Tensor d = from_vector(values, {61});
  const Ritz r = lanczos(61, [&](const Tensor& v) { return d * v; }, {});
  CHECK(r.values.back() == Approx(1).margin(1e-6));
  CHECK(r.values.front() == Approx(-100).epsilon(1e-9));
}

TEST_CASE("lanczos goes on where a subspace ends", "[autograd][curvature]") {
  auto twice = [](const Tensor& v) { return 2 * v; };
  for (double value : lanczos(6, twice, {.largest = 6}).values)
    CHECK(value == Approx(2).epsilon(1e-12));
  auto zero = [](const Tensor& v) { return 0 * v; };
  CHECK(lanczos(4, zero, {.largest = 2}).values.back() == 0);
  CHECK_THROWS_AS(lanczos(4, zero, {.largest = 5}), ValueError);
}

TEST_CASE("the Hessian of a quadratic loss, its blocks and its preconditioner",
          "[autograd][curvature]") {
  const Tensor d = diagonal(), p = d * d + 1;
  const Var x = Var::leaf(normal({10}, 0, 1, {1, 1}, DType::Float64), "x"),
            y = Var::leaf(normal({10}, 0, 1, {1, 2}, DType::Float64), "y");
  Tape tape;
  const Var loss = 0.5 * sum(x * x * Var(d)) + sum(y * y) + 3 * sum(x * y);
  const Hessian h(tape, loss, {x, y});
  CHECK(h.size() == 20);
  CHECK(h.lanczos({.largest = 10}, 0).values.back() == Approx(5).epsilon(1e-10));
  CHECK(h.lanczos({}, 1).values.back() == Approx(2).epsilon(1e-10));
  // [[5, 3], [3, 2]]: (7 + √45)/2
  CHECK(h.lanczos({}).values.back() == Approx(3.5 + std::sqrt(11.25)).epsilon(1e-10));
  const Hessian scaled(tape, loss, {x}, {p});
  CHECK(scaled.lanczos({}).values.back() == Approx(0.5).epsilon(1e-10));  // 1/(1 + 1)
  CHECK_THROWS_AS(Hessian(tape, loss, {x}, {d}), ValueError);
}

TEST_CASE("a density has the integral 1, and its error falls with the starts",
          "[autograd][curvature]") {
  const Tensor d = diagonal();
  auto error = [&](std::uint64_t count) {
    std::vector<Ritz> starts;
    for (std::uint64_t i = 0; i < count; ++i)
      starts.push_back(lanczos(10, [&](const Tensor& v) { return d * v; },
                               {.tolerance = 0, .steps = 10, .start = {i, 0}}));
    const Density density = density_of(starts);
    double integral = 0;
    for (double y : density.density) integral += y * (density.points[1] - density.points[0]);
    CHECK(integral == Approx(1).epsilon(1e-3));
    return density.distance;
  };
  const double of_many = error(64), of_few = error(4);
  CHECK(of_many < 0.5 * of_few);
}

TEST_CASE("losses without a second derivative are named", "[autograd][curvature]") {
  const Var x = Var::leaf(tensor({1, 0, 2}, DType::Float64), "x"),
            y = Var::leaf(tensor({1}, DType::Float64), "y");
  Tape tape;
  CHECK(contains(error_of<ValueError>([&] { Hessian(tape, sum(relu(x)), {x}); }),
                 "not twice differentiable: its gradient is constant between the kinks of relu"));
  CHECK(contains(error_of<ValueError>([&] {
                   Hessian(tape, sum(x * x), {x, y});
                 }),
                 "does not read y"));
  const Hessian root(tape, sum(pow(x, 1.5)), {x});
  CHECK_THROWS_AS(root(ones({3}, DType::Float64)), NonFiniteError);
  CHECK(Hessian(tape, sum(x * x), {x}).kinks().size() == 1);  // the tape's first loss has it
}

}  // namespace test_curvature
