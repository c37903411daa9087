#include "nn/attention/guided.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_guided {

using namespace glim;

TEST_CASE("guided attention equals PyTorch's", "[guided][reference]") {
  Reference file("variants");
  for (const std::string name : {"guided_attention", "guided_attention_heads"})
    in_every_form([&](DType dtype) {
      Var a = Var::leaf(file.get(name + ".attention", dtype).clone());
      Tape tape;
      Var loss = guided_attention_loss(a, file.get(name + ".target_lengths").to_vector<Index>(),
                                       file.get(name + ".source_lengths").to_vector<Index>(),
                                       file.config(name).at("width").get<double>());
      double tolerance = dtype == DType::Float64 ? 1e-10 : 1e-5;
      CHECK(close(loss.value(), file.get(name + ".y"), tolerance));
      tape.backward(loss, file.get(name + ".dy", dtype));
      CHECK(close(a.grad(), file.get(name + ".dattention"), tolerance));
    });
}

TEST_CASE("attention on the diagonal costs nothing, far from it nearly one", "[guided]") {
  Tensor diagonal = reshape(eye(8, DType::Float64), {1, 8, 8});
  CHECK(guided_attention_loss(Var(diagonal), {8}, {8}).item() == Approx(0).margin(1e-12));
  Tensor last = zeros({1, 1, 8}, DType::Float64);  // the first target looks at the last source
  last.data<double>()[7] = 1;
  CHECK(guided_attention_loss(Var(last), {1}, {8}).item() > 0.99);
  // A row that sums to 1 adds between 0 and 1.
  Tensor even = full({1, 8, 8}, 1.0 / 8, DType::Float64);
  double loss = guided_attention_loss(Var(even), {8}, {8}).item() / 8;
  CHECK((loss > 0.2 && loss < 1));
  // A wider g forgives more.
  CHECK(guided_attention_loss(Var(even), {8}, {8}, 0.5).item() / 8 < loss);
}

TEST_CASE("padding counts nothing", "[guided]") {
  Tensor w = guided_attention_weights({3, 5}, {2, 6}, 5, 6, 0.2, DType::Float64);
  CHECK(sum(narrow(select(w, 0, 0), 0, 3, 2)).item() == 0);
  CHECK(sum(narrow(select(w, 0, 0), 1, 2, 4)).item() == 0);
  CHECK(sum(select(w, 0, 1)).item() > 0);
  // W is that of the sentence alone.
  CHECK(close(narrow(narrow(select(w, 0, 0), 0, 0, 3), 1, 0, 2),
              select(guided_attention_weights({3}, {2}, 3, 2, 0.2, DType::Float64), 0, 0), 1e-15));
}

TEST_CASE("what guided attention refuses", "[guided]") {
  Var a(zeros({2, 3, 4}));
  CHECK_THROWS_AS(guided_attention_loss(a, {3, 3}, {4, 5}), ShapeError);
  CHECK_THROWS_AS(guided_attention_loss(a, {3}, {4}), ShapeError);
  CHECK_THROWS_AS(guided_attention_loss(a, {3, 3}, {4}), ShapeError);
  CHECK_THROWS_AS(guided_attention_loss(Var(zeros({2, 3})), {3, 3}, {4, 4}), ShapeError);
  CHECK_THROWS_AS(guided_attention_loss(a, {3, 3}, {4, 4}, 0), ValueError);
}

}  // namespace test_guided
