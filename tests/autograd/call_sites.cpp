// Where an error happened: the user's own line, also where an operator or a function of ops failed.
#include "autograd/ops.hpp"
#include "tests/autograd/common.hpp"

namespace test_call_sites {

using namespace glim;

namespace {

// The line on which f is called, as errors and nodes name it.
std::string line(int number) { return "at call_sites.cpp:" + std::to_string(number); }
std::string last_line(const Tape& tape) { return "at " + to_string(tape.nodes().back().where); }

}  // namespace

TEST_CASE("an error through an operator names the line of the expression", "[call_sites]") {
  Var a = leaf64({2, 3}, 1, "a"), b = leaf64({4}, 2, "b");
  auto names = [&](const std::string& text, const char* op, int at) {
    INFO(text);
    CHECK(contains(text, line(at)));
    CHECK(contains(text, op));
  };
  auto refused = [](auto f) { return error_of<ShapeError>(f); };
  names(refused([&] { a* b; }), "mul", __LINE__);
  names(refused([&] { a + b; }), "add", __LINE__);
  names(refused([&] { a - b; }), "sub", __LINE__);
  names(refused([&] { a / b; }), "div", __LINE__);
  names(refused([&] { a* ones({5}, DType::Float64); }), "mul", __LINE__);
  Tape tape;
  names(refused([&] { matmul(2 * a, b); }), "matmul", __LINE__);
}

TEST_CASE("a node knows the line of its call", "[call_sites]") {
  Var a = leaf64({2, 3}, 1, "a");
  Tape tape;
  2 * a;
  CHECK(last_line(tape) == line(__LINE__ - 1));
  1 - a;
  CHECK(last_line(tape) == line(__LINE__ - 1));
  a / 3;
  CHECK(last_line(tape) == line(__LINE__ - 1));
  -a;
  CHECK(last_line(tape) == line(__LINE__ - 1));
  ones({3}, DType::Float64) + a;
  CHECK(last_line(tape) == line(__LINE__ - 1));
  matmul(a, transpose(a));
  CHECK(last_line(tape) == line(__LINE__ - 1));
  concatenate({a, a}, 0);
  CHECK(last_line(tape) == line(__LINE__ - 1));
}

TEST_CASE("a function of ops records them all at its caller's line", "[call_sites]") {
  Var a = leaf64({2, 3}, 1, "a"), b = leaf64({3}, 2, "b");
  for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(m);
    Tape tape;
    layer_norm(var(a * b, {1}, 1, true) + a, b, b);
    int at = __LINE__ - 1;
    for (const Node& n : tape.nodes())
      if (!n.leaf) CHECK("at " + to_string(n.where) == line(at));
    CHECK(tape.nodes().size() > 6);
  }
}

TEST_CASE("an operator takes numbers and tensors on either side", "[call_sites]") {
  Var x = leaf_of({1, 2, 4});
  Tensor t = tensor({2, 4, 8}, DType::Float64);
  auto is = [](const Var& v, std::vector<double> wanted) { return list(v.value()) == wanted; };
  CHECK(is(x + 1, {2, 3, 5}));
  CHECK(is(1 + x, {2, 3, 5}));
  CHECK(is(x - 1, {0, 1, 3}));
  CHECK(is(1 - x, {0, -1, -3}));
  CHECK(is(2 * x, {2, 4, 8}));
  CHECK(is(x * 2, {2, 4, 8}));
  CHECK(is(x / 2, {0.5, 1, 2}));
  CHECK(is(4 / x, {4, 2, 1}));
  CHECK(is(-x, {-1, -2, -4}));
  CHECK(is(t * x, {2, 8, 32}));
  CHECK(is(x * t, {2, 8, 32}));
  CHECK(is(t - x, {1, 2, 4}));
  CHECK(is(t / x, {2, 2, 2}));
  Tape tape;
  tape.backward(sum(t * x + 8 / x));
  CHECK(list(x.grad()) == std::vector<double>{2 - 8, 4 - 2, 8 - 0.5});
}

}  // namespace test_call_sites
