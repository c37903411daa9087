#include "autograd/tape.hpp"

#include "autograd/ops.hpp"
#include "tests/catch.hpp"

namespace test_tape {

using namespace glim;

TEST_CASE("backward fills the leaves", "[tape]") {
  Var x = Var::leaf(tensor({1, 2, 3}, DType::Float64), "x");
  Var w = Var::leaf(tensor({4, 5, 6}, DType::Float64), "w");
  {
    Tape tape;
    tape.backward(sum(mul(x, w)));
  }
  CHECK(x.grad().to_vector<double>() == std::vector<double>{4, 5, 6});
  CHECK(w.grad().to_vector<double>() == std::vector<double>{1, 2, 3});
  {
    Tape tape;
    tape.backward(sum(x * x));  // one value used twice, added to what was there
  }
  CHECK(x.grad().to_vector<double>() == std::vector<double>{6, 9, 12});
}

TEST_CASE("the gradient of a gradient", "[tape]") {
  Var x = Var::leaf(tensor({2}, DType::Float64), "x");
  Tape tape;
  Var y = sum(mul(mul(x, x), x));  // x³
  Var dx = tape.grad(y, {x}, {}, {.create_graph = true})[0];
  CHECK(dx.value().at<double>({0}) == 12);
  Var ddx = tape.grad(sum(dx), {x}, {}, {.create_graph = true})[0];
  CHECK(ddx.value().at<double>({0}) == 12);
  tape.backward(sum(ddx));
  CHECK(x.grad().at<double>({0}) == 6);
}

TEST_CASE("a chain of 100,000 ops neither recurses nor leaks", "[tape]") {
  Var x = Var::leaf(tensor({1}, DType::Float64), "x");
  Tape tape;
  Var y = x;
  for (int i = 0; i < 100000; ++i) y = add(y, 1.0);
  tape.backward(sum(y));
  CHECK(x.grad().at<double>({0}) == 1);
}

TEST_CASE("a second backward is defined", "[tape]") {
  Var x = Var::leaf(tensor({3}, DType::Float64), "x");
  Tape tape;
  Var y = sum(x * x);
  tape.backward(y, {.retain = true});
  tape.backward(y);
  CHECK(x.grad().at<double>({0}) == 12);
  CHECK_THROWS_AS(tape.backward(y), StateError);
}

TEST_CASE("a checkpointed region gives the same bits", "[checkpoint]") {
  Var x = Var::leaf(uniform({4, 5}, -1, 1, {1, 2}, DType::Float64), "x");
  Var w = Var::leaf(uniform({5, 5}, -1, 1, {1, 3}, DType::Float64), "w");
  Tensor dx, dw;
  for (bool keep : {true, false}) {
    seed(7);
    x.zero_grad();
    w.zero_grad();
    Tape tape;
    Var h = tanh(x);
    auto region = [&] { return dropout(relu(matmul(h, w)), 0.5, generator().next()); };
    Var y = keep ? region() : checkpoint(region);
    Var loss = sum(mul(y, dropout(y, 0.5, generator().next())));
    auto size = tape.nodes().size();
    tape.backward(loss);
    CHECK(tape.nodes().size() == size);
    if (keep) {
      dx = x.grad();
      dw = w.grad();
    } else {
      CHECK(dx.to_vector<double>() == x.grad().to_vector<double>());
      CHECK(dw.to_vector<double>() == w.grad().to_vector<double>());
    }
  }
}

TEST_CASE("an error says where", "[tape]") {
  Scope outer("decoder");
  Tape tape;
  Var x = Var::leaf(zeros({2, 3}), "decoder.weight");
  Var h = named(relu(x), "query");
  try {
    matmul(h, h);
    FAIL("no error");
  } catch (const ShapeError& e) {
    std::string text = e.what();
    INFO(text);
    CHECK(text.find("a (2, 3) float32  decoder.query") != std::string::npos);
    CHECK(text.find("in decoder.matmul, at tape.cpp:") != std::string::npos);
  }
}

}  // namespace test_tape
