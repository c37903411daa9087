// Fused ops equal their compositions at sizes beyond those of gradient cases: values, gradients, gradients of gradients;
// for any number of threads the same bits.
#include <vector>

#include "autograd/op_form.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tests/autograd/kernels/fused_cases.hpp"
#include "tests/catch.hpp"

namespace test_fused {

using namespace glim;
using namespace glim::fused_tests;

namespace {

struct Outcome {
  Tensor y;
  std::vector<Tensor> gradients, second;
};

// y, ∂<y, u>/∂x, and with u and v random ∂<∂<y, u>/∂x, v>/∂x.
Outcome evaluate(const Case& c, DType dtype, OpForm level, bool second) {
  UseForm use(level);
  std::vector<Var> in, leaves;
  for (const Tensor& x : c.inputs) {
    if (!x.defined()) {
      in.emplace_back();
      continue;
    }
    Tensor value = x;
    if (dtype != x.dtype()) {  // keep the strides' order
      value = x.to(dtype);
      if (!x.is_contiguous() && x.rank() > 1) value = swapped(value);
    }
    in.push_back(Var::leaf(value));
    leaves.push_back(in.back());
  }
  Outcome o;
  Tape tape;
  Var y = c.call(in);
  o.y = y.value();
  Tensor u = uniform(y.shape(), -1, 1, {8, 1}, dtype);
  std::vector<Var> d = tape.grad(y, leaves, u, {.create_graph = second});
  for (const Var& g : d) o.gradients.push_back(g.value());
  if (!second) return o;
  Var inner(scalar(0, dtype));
  std::uint64_t stream = 2;
  for (const Var& g : d)
    inner = add(inner, sum(mul(g, Var(uniform(g.shape(), -1, 1, {8, ++stream}, dtype)))));
  if (inner.requires_grad())
    for (const Var& g : tape.grad(inner, leaves)) o.second.push_back(g.value());
  return o;
}

double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  if (a.numel() == 0) return 0;
  Tensor x = a.to(DType::Float64), y = b.to(DType::Float64);
  double size = std::max(1.0, max(abs(y)).item());
  return max(abs(sub(x, y))).item() / size;
}

void check_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("gradient of input " << i);
    CHECK(difference(a[i], b[i]) <= tolerance);  // false for NaN
  }
}

}  // namespace

TEST_CASE("fused ops equal their compositions", "[fused]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Outcome fused = evaluate(c, DType::Float64, OpForm::Fused, true);
    Outcome plain = evaluate(c, DType::Float64, OpForm::Explicit, true);
    CHECK(difference(fused.y, plain.y) <= 1e-12);
    check_close(fused.gradients, plain.gradients, 1e-12);
    check_close(fused.second, plain.second, 1e-11);
    // Not recorded, so that the hand-written backward runs.
    Outcome kernel = evaluate(c, DType::Float64, OpForm::Fused, false);
    check_close(kernel.gradients, plain.gradients, 1e-12);
  }
}

TEST_CASE("fused ops equal their compositions in float32", "[fused]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Outcome fused = evaluate(c, DType::Float32, OpForm::Fused, false);
    Outcome plain = evaluate(c, DType::Float32, OpForm::Explicit, false);
    CHECK(difference(fused.y, plain.y) <= 1e-5);
    check_close(fused.gradients, plain.gradients, 1e-5);
  }
}

TEST_CASE("fused ops give the same bits for any number of threads", "[fused]") {
  int before = num_threads();
  for (const Case& c : cases()) {
    INFO(c.name);
    set_num_threads(1);
    Outcome one = evaluate(c, DType::Float32, OpForm::Fused, false);
    for (int n : {2, 3, 4}) {
      set_num_threads(n);
      Outcome many = evaluate(c, DType::Float32, OpForm::Fused, false);
      CHECK(same_bits(one.y, many.y));
      for (std::size_t i = 0; i < one.gradients.size(); ++i)
        CHECK(same_bits(one.gradients[i], many.gradients[i]));
    }
  }
  set_num_threads(before);
}

TEST_CASE("the context of attention joins its heads without a copy", "[fused]") {
  Var q = Var(random({2, 3, 4, 8})), k = Var(random({2, 3, 5, 8})), v = Var(random({2, 3, 5, 8}));
  Var context = scaled_dot_product_attention(q, k, v).context;
  CHECK(transpose(context.value(), 1, 2).is_contiguous());
}

TEST_CASE("a query that keeps nothing has context 0 and gradient 0", "[fused]") {
  Tensor keep = zeros({4, 5}, DType::Bool);
  Var q = Var::leaf(random({2, 4, 6})), k = Var::leaf(random({2, 5, 6})),
      v = Var::leaf(random({2, 5, 3}));
  Tape tape;
  Var context = scaled_dot_product_attention(q, k, v, {keep, {}}).context;
  CHECK(max(abs(context.value())).item() == 0);
  tape.backward(sum(context));
  for (const Var& x : {q, k, v}) CHECK(max(abs(x.grad())).item() == 0);
}

TEST_CASE("one node each, and errors that name the operands", "[fused]") {
  Tape tape;
  Var x = Var::leaf(random({2, 3, 4}));
  layer_norm(x, Var(ones({4}, DType::Float64)), Var());
  CHECK(tape.nodes().size() == 2);
  CHECK(tape.nodes().back().name() == "layer_norm");
  CHECK_THROWS_AS(layer_norm(x, Var(ones({3}, DType::Float64)), Var()), ShapeError);
  CHECK_THROWS_AS(linear(x, Var(random({5, 4})), Var(random({4}))), ShapeError);
  CHECK_THROWS_AS(scaled_dot_product_attention(x, x, Var(random({2, 2, 4}))), ShapeError);
  CHECK_THROWS_AS(scaled_dot_product_attention(x, x, x, {ones({2, 2}, DType::Bool), {}}),
                  ShapeError);
  CHECK_THROWS_AS(scaled_dot_product_attention(x, x, x, {ones({3, 3}, DType::Float64), {}}),
                  DTypeError);
  Var logits(random({2, 5}));
  CHECK_THROWS_AS(label_smoothing_loss(logits, from_vector(std::vector<Index>{1, 5}, {2}), 0.1, 0),
                  IndexError);
  CHECK_THROWS_AS(label_smoothing_loss(logits, from_vector(std::vector<Index>{1, 2}, {2}), 1, 0),
                  ValueError);
  auto of = [](const Shape& shape) { return Var(random(shape)); };
  CHECK_THROWS_AS(gru_cell(of({2, 9}), of({2, 9}), of({2, 4})), ShapeError);
  CHECK_THROWS_AS(gru_cell(of({2, 9}), of({2, 8}), of({2, 3})), ShapeError);
  CHECK_THROWS_AS(lstm_cell(of({2, 12}), of({2, 12}), of({2, 3})), ShapeError);
  CHECK_THROWS_AS(lstm_cell(of({2, 12}), of({2, 12}), of({3, 6})), ShapeError);
  CHECK_THROWS_AS(gru_cell(of({2, 9}), of({2, 9}), of({2, 3}), ones({3}, DType::Bool)), ShapeError);
  CHECK_THROWS_AS(gru_cell(of({2, 9}), of({2, 9}), of({2, 3}), ones({2})), DTypeError);
  CHECK_THROWS_AS(gru_cell(of({2, 9}), of({2, 9}), Var(zeros({2, 3}))), DTypeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 12}), {}, 0), ValueError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 12}), {}, 3), ShapeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 11}), {}, 1), ShapeError);
  CHECK_THROWS_AS(packed_attention(of({6, 12}), {}, 1), ShapeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 4}), of({2, 5, 4}), 2), ShapeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 4}), of({1, 5, 8}), 2), ShapeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 4}), Var(zeros({2, 5, 8})), 2), DTypeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 12}), {}, 2, {ones({2, 3}, DType::Bool), {}}),
                  ShapeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 12}), {}, 2, {ones({3, 3}, DType::Float64), {}}),
                  DTypeError);
  CHECK_THROWS_AS(packed_attention(of({2, 3, 12}), {}, 2, {}, -0.1), ValueError);
  CHECK_THROWS_AS(additive_scores(of({2, 3, 5}), of({2, 4, 5}), of({4})), ShapeError);
  CHECK_THROWS_AS(additive_scores(of({2, 3, 5}), of({1, 4, 5}), of({5})), ShapeError);
  CHECK_THROWS_AS(additive_scores(of({2, 3, 5}), of({2, 4, 5}), Var(zeros({5}))), DTypeError);
}

TEST_CASE("the loss's measures are those of the composition", "[fused]") {
  Var logits(random({6, 9}));
  Tensor target = from_vector(std::vector<Index>{1, 0, 8, 3, 0, 2}, {6});
  Measures fused = label_smoothing_loss(logits, target, 0.1, 0).sums;
  UseForm use(OpForm::Explicit);
  Measures plain = label_smoothing_loss(logits, target, 0.1, 0).sums;
  CHECK(fused.tokens == 4);
  CHECK(plain.tokens == 4);
  CHECK(fused.kl == Approx(plain.kl).epsilon(1e-12));
  CHECK(fused.smoothed_ce == Approx(plain.smoothed_ce).epsilon(1e-12));
  CHECK(fused.nll == Approx(plain.nll).epsilon(1e-12));
}

}  // namespace test_fused
