// Names that need another call of f and backward, of functions with several outputs and of small errors.
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tools/foreign/function.hpp"

namespace glim::foreign_guesses {
namespace {

Tensor random(const Shape& shape, std::uint64_t stream) {
  return uniform(shape, -2, 2, {13, stream}, DType::Float64);
}

Tensor average(const Tensor& x) { return mean(x, {1}, true); }
Tensor deviation(const Tensor& x, double epsilon) {
  const Tensor centred = x - average(x);
  return sqrt(average(centred * centred) + epsilon);
}
Tensors layer_norm(const Tensors& x) { return {(x[0] - average(x[0])) / deviation(x[0], 1e-5)}; }

// The gradient of layer norm, with this σ and this normalised x.
Tensor d_layer_norm(const Tensor& dy, const Tensor& n, const Tensor& sigma) {
  return (dy - average(dy) - n * average(dy * n)) / sigma;
}

// The name of the mistake, or "passed".
std::string mistake(const Callbacks& f, const std::vector<GradcheckInput>& at) {
  const FunctionReport r = check_function(f, at);
  INFO(r.text());
  return r ? "passed" : r.mistake.empty() ? "not named" : r.mistake;
}

}  // namespace

TEST_CASE("an epsilon that is forgotten or misplaced is named") {
  auto of = [](double epsilon, double below) {
    return mistake({layer_norm,
                    [=](const Tensors& x, const Tensors& dy) {
                      const Tensor sigma = deviation(x[0], epsilon);
                      return Tensors{d_layer_norm(dy[0], (x[0] - average(x[0])) / (sigma + below),
                                                  sigma + below)};
                    }},
                   {{"x", random({4, 5}, 1)}});
  };
  CHECK(of(1e-5, 0) == "passed");
  CHECK(contains(of(0, 0), "an epsilon forgotten or misplaced"));
  CHECK(contains(of(0, 1e-5), "an epsilon forgotten or misplaced"));
  // GELU's constant, rounded.
  auto gelu_with = [](double c) {
    return [c](const Tensors& x, const Tensors& dy) {
      const double r = 0.7978845608028654;
      const Tensor u = mul(x[0] + c * (x[0] * x[0] * x[0]), r), t = tanh(u);
      const Tensor du = mul(mul(x[0] * x[0], 3 * c) + 1, r);
      return Tensors{dy[0] * (0.5 * (t + 1) + 0.5 * (x[0] * ((-1 * (t * t) + 1) * du)))};
    };
  };
  auto gelu_value = [](const Tensors& x) { return Tensors{gelu(x[0], GeluForm::Tanh)}; };
  CHECK(mistake({gelu_value, gelu_with(0.044715)}, {{"x", random({4, 5}, 1)}}) == "passed");
  CHECK(contains(mistake({gelu_value, gelu_with(0.0447)}, {{"x", random({4, 5}, 1)}}),
                 "a constant rounded"));
}

TEST_CASE("a gradient that is nearly right has no name of a mistake that it would be at any size") {
  auto named = [](double factor) {
    const FunctionReport r = check_function({[](const Tensors& x) { return Tensors{exp(x[0])}; },
                                             [=](const Tensors& x, const Tensors& dy) {
                                               return Tensors{factor * (dy[0] * exp(x[0]))};
                                             }},
                                            {{"x", random({3, 3}, 1)}}, {.precise = true});
    INFO(r.text());
    return r ? "passed" : r.mistake;
  };
  CHECK(named(1) == "passed");
  CHECK(contains(named(1 + 1e-7), "a constant rounded"));
  CHECK(named(1.00002) == "the gradient is dy times the output times 1.00002");
}

TEST_CASE("the mistake in the gradient of one output of several is named") {
  // y = x², z = tanh x, s = Σ x
  auto value = [](const Tensors& x) { return Tensors{x[0] * x[0], tanh(x[0]), sum(x[0], {1})}; };
  auto with = [&](std::function<Tensors(const Tensors& x, const Tensors& dy)> part) {
    return mistake({value,
                    [part](const Tensors& x, const Tensors& dy) {
                      Tensor d = zeros(x[0].shape(), DType::Float64);
                      for (const Tensor& p : part(x, dy)) d = d + p;
                      return Tensors{d};
                    }},
                   {{"x", random({3, 4}, 1)}});
  };
  auto square = [](const Tensors& x, const Tensors& dy) { return 2 * x[0] * dy[0]; };
  auto hyperbolic = [](const Tensors& x, const Tensors& dy) {
    const Tensor t = tanh(x[0]);
    return dy[1] * (-1 * (t * t) + 1);
  };
  auto total = [](const Tensors&, const Tensors& dy) { return unsqueeze(dy[2], 1); };
  CHECK(with([&](auto& x, auto& dy) {
          return Tensors{square(x, dy), hyperbolic(x, dy), total(x, dy)};
        }) == "passed");
  CHECK(with([&](auto& x, auto& dy) {
          return Tensors{0.5 * square(x, dy), hyperbolic(x, dy), total(x, dy)};
        }) == "a constant factor: 1/2 times the derivative, of output 0");
  CHECK(contains(with([&](auto& x, auto& dy) {
                   return Tensors{square(x, dy), -1 * hyperbolic(x, dy), total(x, dy)};
                 }),
                 "the sign, of output 1"));
  CHECK(contains(with([&](auto& x, auto& dy) {
                   return Tensors{square(x, dy), hyperbolic(x, dy)};
                 }),
                 ", of output 2"));
}

}  // namespace glim::foreign_guesses
