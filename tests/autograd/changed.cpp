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

namespace {

// A leaf or constant over memory of somebody else.
Tensor over(std::vector<double>& memory) {
  return Tensor::from_storage(
      Storage::over(memory.data(), memory.size() * sizeof(double), std::make_shared<int>(0), false),
      0, {static_cast<Index>(memory.size())}, {1}, DType::Float64);
}

// An op whose rule gives the same tensor each time.
struct Fixed final : Unary<Fixed> {
  static constexpr Formula formula{"fixed", "y = x", {"dx = held"}};
  Tensor held;
  Tensor forward(const Tensor& x) { return x.clone(); }
  Var dx(const Var&) const { return held; }
};

}  // namespace

TEST_CASE("memory of somebody else that was written to is an error", "[changed]") {
  for (bool leaf : {false, true})
    for (bool region : {false, true})
      for (bool written : {false, true}) {
        std::vector<double> memory{1, 2, 3, 4, 5};
        Var x = leaf_of({1, 1, 1, 1, 1}), c = leaf ? Var::leaf(over(memory)) : Var(over(memory));
        Tape tape;
        Var y = region ? recomputed([x, c] { return x * c; }) : x * c;
        if (written) memory[4] = 7;
        if (!written) {
          CHECK_NOTHROW(tape.backward(sum(y)));
          continue;
        }
        const std::string text = error_of<StateError>([&] { tape.backward(sum(y)); });
        CHECK(text.find("changed since through an array that shares its memory") !=
              std::string::npos);
      }
}

TEST_CASE("memory that was lent is looked at while it is", "[changed]") {
  Var x = leaf_of({1, 2});
  x.value().storage().lend(1);
  for (bool written : {false, true}) {
    Tape tape;
    Var y = x * x;
    if (written) x.value().data<double>()[1] = 5;
    if (written)
      CHECK_THROWS_AS(tape.backward(sum(y)), StateError);
    else
      CHECK_NOTHROW(tape.backward(sum(y)));
  }
  x.value().storage().lend(-1);
  CHECK_FALSE(x.value().storage().shared());
}

TEST_CASE("backward adds to no memory of somebody else", "[changed]") {
  std::vector<double> memory{1, 1};
  for (bool read_only : {false, true}) {
    Var x = leaf_of({0, 0});
    for (int pass = 0; pass < 2; ++pass) {
      Tape tape;
      auto fixed = [&] {
        Fixed op;
        op.held = read_only ? over(memory).read_only() : over(memory);
        return apply(std::move(op), x);
      };
      tape.backward(sum(x + fixed() + fixed()));  // the op's part comes first
    }
    CHECK(list(x.grad()) == std::vector<double>{6, 6});
    CHECK(memory == std::vector<double>{1, 1});
  }
}

}  // namespace test_changed
