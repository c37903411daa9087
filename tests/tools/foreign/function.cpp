#include "tools/foreign/function.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace glim::foreign_function {
namespace {

Tensor random(const Shape& shape, std::uint64_t stream, DType dtype = DType::Float64) {
  return uniform(shape, -2, 2, {11, stream}, dtype);
}

// y = x² and z = x w, whose gradients may be wrong by a factor.
Tensors squares(const Tensors& in) { return {in[0] * in[0], in[0] * in[1]}; }
auto gradient_of_squares(double factor) {
  return [factor](const Tensors& in, const Tensors& dy) -> Tensors {
    return {2 * in[0] * dy[0] + in[1] * dy[1], factor * in[0] * dy[1]};
  };
}

}  // namespace

TEST_CASE("a function outside Glim is checked by its callbacks") {
  const std::vector<GradcheckInput> at{{"x", random({2, 3}, 1)}, {"w", random({2, 3}, 2)}};
  CHECK(check_function({squares, gradient_of_squares(1)}, at));
  const FunctionReport wrong = check_function({squares, gradient_of_squares(2)}, at);
  INFO(wrong.text());
  CHECK_FALSE(wrong);
  CHECK(wrong.differences.inputs[0].failed == 0);
  CHECK(wrong.differences.inputs[1].failed > 0);
}

}  // namespace glim::foreign_function
