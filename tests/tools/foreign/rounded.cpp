// Functions that compute in few digits, and their right gradients.
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tools/foreign/function.hpp"

namespace glim::foreign_rounded {
namespace {

Tensor deviation(const Tensor& x) { return sqrt(mean(x * x, {1}, true) + 1e-5); }

Tensor layer_norm(const Tensor& x) {
  const Tensor centred = x - mean(x, {1}, true);
  return centred / deviation(centred);
}

Tensor layer_norm_gradient(const Tensor& x, const Tensor& dy) {
  const Tensor y = layer_norm(x);
  const Tensor dx = dy - mean(dy, {1}, true) - y * mean(dy * y, {1}, true);
  return dx / deviation(x - mean(x, {1}, true));
}

}  // namespace

TEST_CASE("noise of float32 is no derivative") {
  const Tensor larger = from_vector<double>({1, 1, 1, 1.3, 1, 1}, {2, 3});
  int passed = 0;
  for (std::uint64_t draw = 0; draw < 40; draw += kEvery) {
    const std::vector<GradcheckInput> inputs{
        {"x", normal({2, 3}, 0, 1, {draw, 0}, DType::Float64)}};
    auto report = [&](bool right) {
      return check_function(
          {[](const Tensors& x) {
             return Tensors{layer_norm(x[0].to(DType::Float32)).to(DType::Float64)};
           },
           [&](const Tensors& x, const Tensors& dy) {
             const Tensor dx = layer_norm_gradient(x[0], dy[0]);
             return Tensors{right ? dx : dx * larger};
           }},
          inputs);
    };
    const FunctionReport right = report(true);
    INFO(right.text());
    CHECK(right.differences.failed() == 0);
    passed += right.passed();
    CHECK_FALSE(report(false));
  }
  CHECK(passed >= 36 / static_cast<int>(kEvery));
}

TEST_CASE("examples that rounding hides from each other are no batch") {
  const FunctionReport r = check_function(
      {[](const Tensors& x) {
         const Tensor products = matmul(x[0], transpose(x[0], 0, 1));
         return Tensors{(1.0 / 256) * (256 * products).to(DType::Int64).to(DType::Float64)};
       },
       [](const Tensors& x, const Tensors& dy) {
         return Tensors{matmul(dy[0] + transpose(dy[0], 0, 1), x[0])};
       }},
      {{"x", normal({2, 3}, 0, 1, {1, 0}, DType::Float64)}});
  INFO(r.text());
  CHECK(r.check("batch").verdict == CheckVerdict::NotApplicable);
  CHECK(r.differences.failed() == 0);
}

}  // namespace glim::foreign_rounded
