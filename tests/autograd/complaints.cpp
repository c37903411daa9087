// Troubles that users of such software meet again and again, each as a test. The threads are those of
// the public projects named.
#include <cmath>
#include <limits>

#include "tests/autograd/common.hpp"
#include "tests/autograd/gradcheck/decided.hpp"

namespace test_complaints {

using namespace glim;
using Vars = std::vector<Var>;

// micrograd #2, #64, #67, #90, #102: values used again, recursion, gradients left over.

TEST_CASE("a value used again gets the sum of all its uses", "[complaints]") {
  Var x = leaf_of({3});
  {
    Tape tape;
    tape.backward(add(x, x), ones({1}, DType::Float64));
    CHECK(x.grad().item() == 2);
  }
  x.zero_grad();
  {
    Tape tape;  // a diamond: each arm uses what the other does
    Var a = mul(x, 2.0), b = add(x, 1.0), c = mul(a, b), d = add(c, a);
    tape.backward(sum(mul(d, b)));  // (2x(x+1) + 2x)(x+1) = 2x³ + 6x² + 4x
    CHECK(x.grad().item() == 6 * 9 + 12 * 3 + 4);
  }
  x.zero_grad();
  {
    Tape tape;  // x + x² + x³ + ..., each term from the one before
    Var term = x, total = x;
    for (int i = 0; i < 4; ++i) {
      term = mul(term, x);
      total = add(total, term);
    }
    tape.backward(sum(total));
    CHECK(x.grad().item() == 1 + 2 * 3 + 3 * 9 + 4 * 27 + 5 * 81);
  }
}

TEST_CASE("a deep chain of shared values neither recurses nor explodes", "[complaints]") {
  Var x = leaf_of({1e-9});
  Tape tape;
  Var y = x;
  for (int i = 0; i < 60; ++i) y = add(y, y);  // 2⁶⁰ paths, 60 nodes
  tape.backward(sum(y));
  CHECK(x.grad().item() == std::pow(2.0, 60));
}

TEST_CASE("a second backward adds once, not what intermediates had left over", "[complaints]") {
  Var x = leaf_of({2});
  Tape tape;
  Var h = mul(x, x), y = sum(mul(h, 3.0));
  tape.backward(y, {.retain = true});
  CHECK(x.grad().item() == 12);
  tape.backward(y, {.retain = true});
  CHECK(x.grad().item() == 24);  // stale gradients of h would have made it 36
  x.zero_grad();
  tape.backward(y);
  CHECK(x.grad().item() == 12);
}

TEST_CASE("a constant first operand and a negative power do what they say", "[complaints]") {
  Tensor x = tensor({0.5, 2}, DType::Float64);
  Var c(tensor({3, 4}, DType::Float64));
  CHECK(decided(gradcheck([&](const Vars& v) { return sub(c, v[0]); }, {x})));
  CHECK(decided(gradcheck([&](const Vars& v) { return div(c, v[0]); }, {x})));
  CHECK(decided(gradcheck([](const Vars& v) { return pow(v[0], -1.5); }, {x})));
  CHECK(decided(gradcheck([](const Vars& v) { return 2.0 * v[0] - v[0] / v[0]; }, {x})));
}

// pytorch #41508, #40932, #160064, #152028: a row in which everything is masked.

TEST_CASE("a row with nothing to attend to gives zeros, forward and backward", "[complaints]") {
  Tensor keep = from_vector<bool>({true, false, true, false, false, false}, {2, 3});
  for (DType dtype : {DType::Float32, DType::Float64}) {
    Var x = Var::leaf(uniform({2, 3}, -1, 1, {1, 2}, dtype));
    Tape tape;
    Var probs = masked_softmax(x, keep);
    tape.backward(probs, uniform({2, 3}, -1, 1, {1, 3}, dtype));
    for (Index j = 0; j < 3; ++j) {
      CHECK(narrow(select(probs.value(), 0, 1), 0, j, 1).item() == 0);
      CHECK(narrow(select(x.grad(), 0, 1), 0, j, 1).item() == 0);
    }
    CHECK(all_finite(x.grad()));
  }
  // The attention that is built on it gives zeros, too, with scores of any size.
  Tensor nothing = full({3, 3}, 0, DType::Bool);
  Var q = leaf64({3, 2}, 1, "q"), k = leaf64({3, 2}, 2, "k"), v = leaf64({3, 2}, 3, "v");
  Tape tape;
  Var context = scaled_dot_product_attention(mul(q, 1e8), k, v, {nothing, {}}).context;
  tape.backward(sum(mul(context, context)));
  for (const Var& leaf : {q, k, v})
    for (double e : list(leaf.grad())) CHECK(e == 0);
}

// minitorch: broadcasting's backward.

TEST_CASE("broadcasting is a node of its own, and its backward a sum", "[complaints]") {
  Var x = leaf64({2, 3}, 1), b = leaf64({3}, 2, "b");
  Tape tape;
  Var y = add(x, b);
  REQUIRE(tape.nodes().size() == 4);
  CHECK(tape.nodes()[1].name() == "broadcast_to");
  CHECK(tape.nodes()[1].shape == Shape{2, 3});
  tape.backward(y, reshape(tensor({1, 2, 3, 4, 5, 6}, DType::Float64), {2, 3}));
  CHECK(list(b.grad()) == std::vector<double>{5, 7, 9});
}

// candle #2168, #2977, #3011: an op without a backward that silently freezes what is upstream.

TEST_CASE("every op sends a gradient to every input that wants one", "[complaints]") {
  // An op that computed and sent nothing would leave a leaf without gradient; the engine refuses
  // one that returns none, and this holds for a chain through every kind of op.
  Var w = leaf64({4, 4}, 1, "w");
  Tape tape;
  Var h = layer_norm(linear(w, w, select(w, 0, 0)), select(w, 0, 1), select(w, 0, 2));
  h = scaled_dot_product_attention(h, h, h).context;
  h = gelu(log_softmax(softmax(h)));
  Watch watch(tape, "*");
  tape.backward(sum(mul(h, h)));
  REQUIRE(w.grad().defined());
  double norm = 0;
  for (double e : list(w.grad())) norm += e * e;
  CHECK(norm > 0);
}

// pytorch #8659, #5351, #2710: gradcheck fails in float32, and says only False.

TEST_CASE("gradcheck works in float32, with strides, and says what is wrong", "[complaints]") {
  Tensor x = uniform({3, 4}, -1, 1, {1, 2}, DType::Float32);
  auto f = [](const Vars& v) { return tanh(v[0]); };
  CHECK(decided(gradcheck(f, {x})));
  CHECK(decided(gradcheck(f, {transpose(x)})));
  CHECK(decided(gradcheck(f, {broadcast_to(narrow(x, 0, 0, 1), {3, 4})})));
  auto wrong = [](const Vars& v) { return mul(v[0], tanh(v[0]).detach()); };
  CHECK(contains(gradcheck(wrong, {{"query", x}}).to_string(), "worst at query["));
}

// nanoGPT #167, #210; dynet #1382, #1586: NaN late in training, no diagnosis.

TEST_CASE("a NaN is found where it is made, several ops before the loss", "[complaints]") {
  Var x = leaf_of({4, 0});
  Tape tape;
  FiniteCheck finite(tape);
  std::string text = error_of<NonFiniteError>([&] {
    Scope encoder("encoder"), layer("layers"), number("3");
    Var h = named(mul(x, 0.0), "query");
    Var bad = div(h, h);
    sum(exp(mul(bad, 2.0)));
  });
  INFO(text);
  CHECK(contains(text, "div: its output is not finite"));
  CHECK(contains(text, "in encoder.layers.3.div"));
}

TEST_CASE("0 ln 0 and its like: gradients stay finite at the edges", "[complaints]") {
  double inf = std::numeric_limits<double>::infinity();
  Var x = leaf_of({0, -inf, 1});
  Tape tape;
  Var y = softmax(x);
  tape.backward(y, tensor({1, 2, 3}, DType::Float64));
  CHECK(all_finite(x.grad()));
  CHECK(list(x.grad())[1] == 0);
  x.zero_grad();
  Var z = logsumexp(x);
  tape.backward(z);
  CHECK(all_finite(x.grad()));
  CHECK(list(x.grad())[1] == 0);
  Var large = leaf_of({1e4, -1e4});
  Tape again;
  again.backward(sum(add(sigmoid(large), tanh(large))));
  CHECK(all_finite(large.grad()));
}

}  // namespace test_complaints
