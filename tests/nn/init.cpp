// Initial values: fans, bounds, deviations, and torch's defaults of the layers.
#include "nn/init.hpp"

#include <cmath>

#include "nn/embedding.hpp"
#include "nn/layer_norm.hpp"
#include "nn/linear.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_init {

using namespace glim;

namespace {

double deviation_of(const Tensor& x) { return std::sqrt(var(x, {}, 0).item()); }
double largest(const Tensor& x) { return max(abs(x)).item(); }

// All values within ±bound and close to it, and the deviation bound/√3.
bool uniform_within(const Tensor& x, double bound) {
  return largest(x) <= bound && largest(x) > 0.99 * bound &&
         std::abs(deviation_of(x) / (bound / std::sqrt(3.0)) - 1) < 0.02 &&
         std::abs(mean(x).item()) < 0.02 * bound;
}

}  // namespace

TEST_CASE("fans count the axes after the second", "[init]") {
  CHECK(fans_of({5, 3}).in == 3);
  CHECK(fans_of({5, 3}).out == 5);
  CHECK(fans_of({8, 4, 3, 2}).in == 24);
  CHECK(fans_of({8, 4, 3, 2}).out == 48);
  CHECK_THROWS_AS(fans_of({7}), ShapeError);
  CHECK_THROWS_AS(xavier_uniform_(empty({7})), ShapeError);
  CHECK_THROWS_AS(kaiming_uniform_(empty(Shape{})), ShapeError);
}

TEST_CASE("initial values have the deviations of their papers", "[init]") {
  seed(11);
  Tensor x = empty({300, 200}, DType::Float64);
  xavier_uniform_(x);
  CHECK(uniform_within(x, std::sqrt(6.0 / 500)));
  xavier_uniform_(x, 2);
  CHECK(uniform_within(x, 2 * std::sqrt(6.0 / 500)));
  xavier_normal_(x);
  CHECK(deviation_of(x) == Approx(std::sqrt(2.0 / 500)).epsilon(0.02));
  kaiming_uniform_(x);
  CHECK(uniform_within(x, std::sqrt(6.0 / 200)));
  kaiming_uniform_(x, std::sqrt(5.0));
  CHECK(uniform_within(x, 1 / std::sqrt(200.0)));
  normal_(x, 3, 0.5);
  CHECK(mean(x).item() == Approx(3).epsilon(0.01));
  CHECK(deviation_of(x) == Approx(0.5).epsilon(0.02));
  uniform_(x, 2, 4);
  CHECK(min(x).item() >= 2);
  CHECK(max(x).item() < 4);
  CHECK(mean(x).item() == Approx(3).epsilon(0.01));
  Tensor nothing = empty({3, 0});
  xavier_uniform_(nothing);
  kaiming_uniform_(nothing);
  CHECK_THROWS_AS(uniform_(x, 1, 0), ValueError);
  CHECK_THROWS_AS(normal_(x, 0, -1), ValueError);
  CHECK_THROWS_AS(xavier_uniform_(empty({2, 2}, DType::Int64)), DTypeError);
}

TEST_CASE("initial values write through views", "[init]") {
  Tensor whole = zeros({4, 6});
  xavier_uniform_(narrow(whole, 0, 2, 2));  // one of several matrices kept in one tensor
  CHECK(same_bits(narrow(whole, 0, 0, 2).contiguous(), zeros({2, 6})));
  CHECK(min(abs(narrow(whole, 0, 2, 2))).item() > 0);
}

TEST_CASE("layers start as torch's do", "[init]") {
  seed(3);
  Linear linear_layer(200, 300);
  CHECK(uniform_within(linear_layer.weight.value(), 1 / std::sqrt(200.0)));
  CHECK(largest(linear_layer.bias.value()) <= 1 / std::sqrt(200.0));
  CHECK(largest(linear_layer.bias.value()) > 0.9 / std::sqrt(200.0));
  Embedding table(300, 200);
  CHECK(deviation_of(table.weight.value()) == Approx(1).epsilon(0.02));
  LayerNorm norm(8);
  CHECK(same_bits(norm.weight.value(), ones({8})));
  CHECK(same_bits(norm.bias.value(), zeros({8})));
  Linear no_inputs(0, 3);
  CHECK(same_bits(no_inputs.bias.value(), zeros({3})));
}

TEST_CASE("a seed gives the same model again", "[init]") {
  auto weights = [](std::uint64_t s) {
    seed(s);
    Linear a(7, 5), b(5, 3);
    return std::vector<Tensor>{a.weight.value(), a.bias.value(), b.weight.value()};
  };
  auto first = weights(4), second = weights(4), other = weights(5);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(same_bits(first[i], second[i]));
    CHECK_FALSE(same_bits(first[i], other[i]));
  }
}

}  // namespace test_init
