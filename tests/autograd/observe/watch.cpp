// Looking into a tape: watched gradients, names, times, and the first number that is not finite.
#include <cmath>
#include <limits>

#include "tensor/clock.hpp"
#include "tests/autograd/common.hpp"

namespace test_watch {

using namespace glim;

TEST_CASE("watched values keep value and gradient", "[watch]") {
  Var x = leaf_of({1, 2}), unused = leaf_of({1}, "unused");
  Tape tape;
  Var h = mul(x, x);
  Watch watch(tape, h);
  watch.add(h);  // once is enough
  watch.add(unused);
  CHECK_FALSE(watch.grad_of(h).defined());
  tape.backward(sum(mul(h, 3.0)));
  REQUIRE(watch.values().size() == 2);
  CHECK(list(watch.grad_of(h)) == std::vector<double>{3, 3});
  CHECK(list(watch.values()[0].value) == std::vector<double>{1, 4});
  CHECK_FALSE(watch.grad_of(unused).defined());  // none came
  CHECK_FALSE(watch.grad_of(x).defined());       // not watched
  CHECK_THROWS_AS(watch.add(Var(ones({2}))), StateError);
}

TEST_CASE("patterns watch what is recorded after them", "[watch]") {
  Var x = leaf64({2, 2}, 1, "w");
  Tape tape;
  softmax(x);
  Watch watch(tape, "*probs");
  watch.add("layer.*");
  {
    Scope scope("layer");
    Var probs = named(softmax(x), "probs");
    Var hidden = named(tanh(probs), "hidden");
    tape.backward(sum(hidden));
  }
  std::vector<std::string> paths;
  for (const Watched& w : watch.values()) {
    paths.push_back(w.path);
    CHECK(w.grad.defined());
  }
  CHECK(paths == std::vector<std::string>{"layer.probs", "layer.hidden", "layer.sum"});
  CHECK(watch.values()[0].value.shape() == Shape{2, 2});
}

TEST_CASE("a watched gradient is the one after hooks", "[watch]") {
  Var x = leaf_of({1});
  Tape tape;
  Var h = mul(x, 2.0);
  Watch watch(tape, h);
  Hook hook(tape, h, [](const Var& g) { return mul(g, 5.0); });
  tape.backward(sum(h));
  CHECK(watch.grad_of(h).item() == 5);
}

TEST_CASE("what is watched stays when the tape ends", "[watch]") {
  Var x = leaf_of({1, 2});
  std::optional<Tape> tape(std::in_place);
  Watch watch(*tape, x);
  tape->backward(sum(x * x));
  tape.reset();
  REQUIRE(watch.values().size() == 1);
  CHECK(watch.values()[0].node == -1);
  CHECK(list(watch.values()[0].grad) == std::vector<double>{2, 4});
  CHECK_FALSE(watch.grad_of(x).defined());
  CHECK_THROWS_AS(watch.add(x), StateError);
  Tape next;
  next.observe(watch);
  watch.add(x);
  next.backward(sum(3 * x));
  CHECK(list(watch.grad_of(x)) == std::vector<double>{3, 3});
  CHECK_THROWS_AS(next.observe(watch), StateError);
}

TEST_CASE("named values carry their name in paths and errors", "[watch]") {
  Var x = leaf64({2, 3}, 1, "embedding.weight");
  CHECK(named(x, "other").name() == "embedding.weight");
  Tape tape;
  Scope a("decoder"), b("layers"), c("0");
  Var q = named(mul(x, 2.0), "query");
  CHECK(tape.path(tape.node_of(q)) == "decoder.layers.0.query");
  CHECK(tape.path(tape.node_of(x)) == "embedding.weight");
  CHECK(tape.nodes()[static_cast<std::size_t>(tape.node_of(q))].name() == "scale");
  std::string text = error_of<ShapeError>([&] { matmul(q, q); });
  INFO(text);
  CHECK(contains(text, "decoder.layers.0.query"));
  CHECK(contains(text, "in decoder.layers.0.matmul, at watch.cpp:"));
  CHECK(tape.node_of(named(Var(ones({2})), "constant")) == -1);
}

TEST_CASE("profiling measures every op, both ways", "[watch]") {
  Var x = leaf64({200, 200}, 1);
  for (bool profile : {false, true}) {
    const double start = seconds_now();
    Tape tape;
    OpTimes times(tape);
    if (!profile) times.stop();
    Var y = recomputed([&] { return matmul(x, x); });
    tape.backward(sum(matmul(y, x)));
    int number = 0;
    for (const Node& n : tape.nodes()) {
      const Timing& time = times.of(number++);
      bool measured = profile && n.name() != "leaf";
      INFO(n.name());
      CHECK((time.forward_seconds > 0) == measured);
      CHECK((time.backward_seconds > 0) == measured);
      CHECK(time.forward_seconds + time.backward_seconds < seconds_now() - start);
    }
  }
}

TEST_CASE("nodes know their bytes, shapes and lines", "[watch]") {
  Var x = Var::leaf(ones({4, 8}), "x");
  Tape tape;
  exp(x);
  const Node& n = tape.nodes()[1];
  CHECK(n.bytes() == 4 * 8 * 4);
  CHECK(n.shape == Shape{4, 8});
  CHECK(n.dtype == DType::Float32);
  CHECK(to_string(n.where).rfind("watch.cpp:", 0) == 0);
  CHECK(n.op->saved_values().size() == 1);
  CHECK(n.op->saved_values()[0].input == Op::kOutput);
}

TEST_CASE("the first output that is not finite is named with op and path", "[watch]") {
  Var x = leaf_of({1, 0, -1});
  Scope scope("encoder");
  {
    Tape tape;
    CHECK_NOTHROW(log(x));
  }
  Tape tape;
  FiniteCheck finite(tape);
  Scope layer("norm");
  std::string text = error_of<NonFiniteError>([&] { mul(log(x), 2.0); });
  INFO(text);
  CHECK(contains(text, "log: its output is not finite"));
  CHECK(contains(text, "in encoder.norm.log, at watch.cpp:"));
  // A value that no gradient flows into is watched as well.
  CHECK(contains(error_of<NonFiniteError>([&] { sqrt(Var(tensor({-1}))); }), "sqrt"));
  CHECK(tape.nodes().empty());
}

TEST_CASE("the first gradient that is not finite is named with op and path", "[watch]") {
  Var x = leaf_of({0, 1});
  Tape tape;
  FiniteCheck finite(tape);
  Scope scope("decoder");
  Var y = sum(named(sqrt(x), "root"));  // d√x at 0 is infinite
  std::string text = error_of<NonFiniteError>([&] { tape.backward(y); });
  INFO(text);
  // The op that it came out of, not the one that it went into.
  CHECK(contains(text, "sqrt: its gradient of x is not finite"));
  CHECK(contains(text, "in decoder.root, at watch.cpp:"));
  CHECK(contains(text, "gradient (2,) float64  x"));
  CHECK_FALSE(x.grad().defined());
  Tape again;
  FiniteCheck too(again);
  Var z = named(mul(x, 2.0), "doubled");
  text = error_of<NonFiniteError>(
      [&] { again.backward(z, full({2}, std::numeric_limits<double>::infinity(), z.dtype())); });
  INFO(text);
  CHECK(contains(text, "given"));
  CHECK(contains(text, "decoder.doubled"));
}

}  // namespace test_watch
