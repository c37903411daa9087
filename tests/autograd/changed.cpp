// A value that was changed between forward and backward is an error that says where, never a wrong gradient.
#include "nn/linear.hpp"
#include "optim/sgd.hpp"
#include "tests/autograd/common.hpp"

namespace test_changed {

using namespace glim;

TEST_CASE("a step of the optimizer between two backwards of one tape is an error", "[changed]") {
  Var w = leaf_of({2, 3}, "w");
  Sgd optimizer(NamedParameters{{"w", w}}, {.rate = 0.5});
  Tape tape;
  Var y = sum(w * w);
  tape.backward(y, Backward{.retain = true});
  optimizer.step();
  const std::string text = error_of<StateError>([&] { tape.backward(y); });
  INFO(text);
  for (const char* part :
       {"mul", "(w)", "changed since at changed.cpp:16", "clone()", "at changed.cpp:14"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("an output that was written to is an error where backward reads it", "[changed]") {
  Var x = leaf_of({0, 1});
  Tape tape;
  Var y = exp(x);
  y.value().fill_(100);
  const std::string text = error_of<StateError>([&] { tape.backward(sum(y)); });
  INFO(text);
  for (const char* part : {"exp", "its output", "changed since at changed.cpp:28"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("a parameter that was assigned or replaced on an open tape is an error", "[changed]") {
  Linear layer(2, 2);
  layer.to(DType::Float64);
  for (bool replaced : {false, true}) {
    Var x = leaf_of({1, 2});
    Tape tape;
    Var y = layer(reshape(x, {1, 2}));
    if (replaced)
      layer.weight.leaf().value = ones({2, 2}, DType::Float64);
    else
      layer.weight = zeros({2, 2}, DType::Float64);
    const std::string text = error_of<StateError>([&] { tape.backward(sum(y)); });
    INFO(text);
    CHECK(text.find("(weight)") != std::string::npos);
    CHECK(text.find("changed since") != std::string::npos);
  }
}

TEST_CASE("a leaf that was changed before a region runs again is an error", "[changed]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var y = sum(recomputed([&] { return x * 3.0; }));
  mul_(x.value(), 2);
  const std::string text = error_of<StateError>([&] { tape.backward(y); });
  INFO(text);
  for (const char* part : {"recomputed", "its leaf (x)", "changed since at changed.cpp:57"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("a value from outside that was changed before a region runs again is an error",
          "[changed]") {
  for (bool nested : {false, true}) {
    Var x = leaf_of({1, 2});
    Tape tape;
    Var h = x * 2.0;
    auto region = [&] { return exp(h + 1.0); };
    Var y = nested ? recomputed([&] { return 2.0 * recomputed(region); }) : recomputed(region);
    h.value().fill_(5);
    const std::string text = error_of<StateError>([&] { tape.backward(sum(y)); });
    INFO(text);
    for (const char* part : {"recomputed", "a value from outside", "changed since at changed.cpp:"})
      CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("what backward does not read may change", "[changed]") {
  Var x = leaf_of({1, 2}), b = leaf_of({3, 4});
  for (int round : {0, 1}) {
    Tape tape;
    Var y = x * x + b;  // the sum reads neither operand
    b.value().fill_(round);
    y.value().fill_(7);
    tape.backward(sum(y));
    x.value().fill_(round);  // after backward
    x.zero_grad();
  }
  Tape tape;
  Var y = sum(x * x);
  const Tensor before = x.value();
  x.leaf().value = ones({2}, DType::Float64);
  x.leaf().value = before;  // put back
  tape.backward(y);
  CHECK(list(x.grad()) == std::vector<double>{2, 2});
}

}  // namespace test_changed
