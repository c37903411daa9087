// Clipping by the norm of all gradients.
#include "optim/clip.hpp"

#include <cmath>

#include "tensor/ops/elementwise.hpp"
#include "tests/optim/common.hpp"

namespace test_clip {

using namespace glim;

TEST_CASE("clipping by the norm of all gradients equals torch's", "[optim][reference]") {
  for (std::string name : {"clip_above", "clip_below", "clip_tiny", "clip_zero"}) {
    for (DType dtype : {DType::Float64, DType::Float32}) {
      INFO(name << " " << name_of(dtype));
      TwoParams pair(dtype);
      for (auto& [key, var] : pair.list())
        var.leaf().grad = name == "clip_zero" ? zeros(var.shape(), dtype)
                                              : optim().get("clip.grad." + key, dtype).clone();
      double tolerance = dtype == DType::Float64 ? 1e-14 : 1e-6;
      double norm = clip_gradient_norm(pair.list(), optim().config(name)["max_norm"]);
      CHECK(std::abs(norm - optim().get(name + ".norm").item()) <= tolerance * (1 + norm));
      for (auto& [key, var] : pair.list())
        CHECK(distance(var.grad(), optim().get(name + ".grad." + key)) <= tolerance);
    }
  }
}

TEST_CASE("the norm of a large gradient counts all of its pieces", "[optim]") {
  for (DType dtype : {DType::Float64, DType::Float32}) {
    Var x = Var::leaf(ones({40'000}, dtype), "x");  // three pieces
    x.leaf().grad = full({40'000}, 0.5, dtype);
    CHECK(gradient_norm({{"x", x}}) == 100);
  }
}

TEST_CASE("a parameter that is listed twice is refused, and nothing is scaled", "[optim]") {
  Var x = Var::leaf(ones({2}), "x");
  x.leaf().grad = tensor({3, 4});
  CHECK_THROWS_AS(clip_gradient_norm({{"x", x}, {"y", x}}, 1), ValueError);
  CHECK(x.grad().to_vector<float>() == std::vector<float>{3, 4});
}

TEST_CASE("a gradient that is not finite is named, and nothing is scaled", "[optim]") {
  TwoParams pair(DType::Float32);
  pair.set_gradients(0);
  Tensor w = pair.w.grad().clone();
  pair.b.grad().data<float>()[3] = std::nanf("");
  auto text = error_of<NonFiniteError>([&] { clip_gradient_norm(pair.list(), 0.1); });
  CHECK(contains(text, "the gradient of b is not finite"));
  CHECK(same_bits(pair.w.grad(), w));
  pair.b.grad().data<float>()[3] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(gradient_norm(pair.list()), NonFiniteError);
  // The largest float32 numbers still have a norm.
  pair.b.grad().fill_(3e38);
  CHECK(gradient_norm(pair.list()) == Approx(std::sqrt(5.0) * 3e38));
  pair.b.zero_grad();
  CHECK(gradient_norm(pair.list()) > 0);
  TwoParams wide(DType::Float64);
  wide.set_gradients(0);
  wide.w.grad().fill_(1e200);
  text = error_of<NonFiniteError>([&] { gradient_norm(wide.list()); });
  CHECK(contains(text, "too large"));
  CHECK_THROWS_AS(clip_gradient_norm(pair.list(), 0), ValueError);
  CHECK_THROWS_AS(clip_gradient_norm(pair.list(), std::nan("")), ValueError);
  CHECK_THROWS_AS(clip_gradient_norm(pair.list(), 1e-50), ValueError);  // 0 in float32
  CHECK_NOTHROW(clip_gradient_norm(TwoParams(DType::Float64).list(), 1e-50));
}

}  // namespace test_clip
