// Troubles that users of such software meet again and again, each as a test. The threads are those of
// the public projects named.
#include <cmath>
#include <limits>

#include "tests/autograd/common.hpp"

namespace test_complaints {

using namespace glim;

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

// nanoGPT #167, #210; dynet #1382, #1586: NaN late in training, no diagnosis.

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
