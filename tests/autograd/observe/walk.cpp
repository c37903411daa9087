// The backward pass node by node: the same as all at once, and what may be changed on the way.
#include "autograd/observe/walk.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/op_form.hpp"
#include "tensor/ops/index.hpp"
#include "tests/autograd/common.hpp"
#include "tests/small_transformer.hpp"

namespace test_walk {

using namespace glim;

namespace {

// A whole small Transformer in float32, with dropout and padding.
struct Example : SmallTransformer {
  Example() : SmallTransformer(Tie::All, 0.1) {}
  Var loss() {
    seed(4);
    Var logits = reshape(
        (*model)(ids({3, 4, 5, 6, 7, 8, 9, 0}, {2, 4}), ids({1, 3, 3, 1, 5, 0}, {2, 3})), {6, 11});
    return mul(label_smoothing_loss(logits, ids({3, 3, 2, 5, 2, 0}, {6}), 0.1, 0), 1.0 / 5);
  }
};

double largest_difference(const Tensor& a, const Tensor& b) {
  auto x = list(a.to(DType::Float64)), y = list(b.to(DType::Float64));
  REQUIRE(x.size() == y.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

bool same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (auto& [name, g] : a)
    if (!b.contains(name) || !same_bits(g, b.at(name))) return false;
  return true;
}

}  // namespace

TEST_CASE("a walk over a whole Transformer leaves the bits that backward leaves", "[walk]") {
  Example e;
  for (auto m : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(m);
    std::map<std::string, Tensor> at_once, walked;
    {
      Tape tape;
      tape.backward(e.loss());
      at_once = e.gradients();
    }
    CHECK(at_once.size() > 50);
    Tape tape;
    BackwardWalk walk(tape, e.loss());
    int last = static_cast<int>(tape.nodes().size());
    // The flows into a node are all of its gradient, to rounding.
    std::map<int, Tensor> sums;
    // Holding on to what a step gave must not change how later gradients add up: rows of the
    // tied embedding are added in place, and round otherwise than to a copy of another layout.
    std::vector<WalkStep> held;
    while (walk.next() >= 0) {
      int node = walk.next();
      REQUIRE(node < last);
      last = node;
      Tensor waiting = walk.gradient(node);
      WalkStep s = walk.step();
      CHECK(s.node == node);
      CHECK(same_bits(s.dy, waiting));
      if (sums.contains(node)) CHECK(largest_difference(sums[node], s.dy) <= 1e-6);
      for (const Flow& f : s.flows) {
        CHECK(tape.nodes()[static_cast<std::size_t>(node)].inputs[f.input] == f.node);
        sums[f.node] = sums.contains(f.node) ? add(sums[f.node], f.gradient) : f.gradient.clone();
      }
      held.push_back(std::move(s));
    }
    walked = e.gradients();
    CHECK(same(at_once, walked));
  }
}

TEST_CASE("rows of an embedding read twice add up in a walk as in backward", "[walk]") {
  // The part that index_select adds to what is there already; adding it up first rounds otherwise.
  Var table = Var::leaf(normal({4, 5}, 0, 1, {1, 2}), "table");
  Tensor index = ids({2, 2, 0, 2}, {4}), w = normal({4, 5}, 0, 1, {1, 3});
  auto loss = [&] {
    Var rows = index_select(table, 0, index);
    return add(sum(mul(rows, w)), sum(mul(mul(table, table), 0.3)));
  };
  Tensor at_once;
  {
    Tape tape;
    tape.backward(loss());
    at_once = table.grad();
    table.zero_grad();
  }
  Tape tape;
  BackwardWalk walk(tape, loss());
  bool seen = false;
  while (walk.next() >= 0) {
    WalkStep s = walk.step();
    if (tape.nodes()[static_cast<std::size_t>(s.node)].name() != "index_select") continue;
    REQUIRE(s.flows.size() == 1);
    CHECK(largest_difference(s.flows[0].gradient, index_add({4, 5}, 0, index, w)) == 0);
    seen = true;
  }
  CHECK(seen);
  CHECK(same_bits(table.grad(), at_once));
}

TEST_CASE("a gradient replaced at its turn is what flows on", "[walk]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, 2.0), y = sum(add(h, mul(x, 10.0)));
  BackwardWalk walk(tape, y);
  int node = tape.node_of(h);
  while (walk.next() > node) walk.step();
  REQUIRE(walk.next() == node);
  walk.set_gradient(node, tensor({5, 7}, DType::Float64));
  CHECK(list(walk.step().dy) == std::vector<double>{5, 7});
  while (walk.next() >= 0) walk.step();
  CHECK(list(x.grad()) == std::vector<double>{20, 24});
}

TEST_CASE("one replaced before its turn is added to by what still comes", "[walk]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, 1.0), a = mul(h, 3.0), y = sum(add(a, mul(h, 4.0)));
  BackwardWalk walk(tape, y);
  while (walk.next() > tape.node_of(a)) walk.step();
  CHECK(list(walk.gradient(tape.node_of(h))) == std::vector<double>{4, 4});
  walk.set_gradient(tape.node_of(h), tensor({100, 200}, DType::Float64));
  while (walk.next() >= 0) walk.step();
  CHECK(list(x.grad()) == std::vector<double>{103, 203});
}

TEST_CASE("without a gradient the pass goes around a node", "[walk]") {
  Var x = leaf_of({1, 2}, "x"), w = leaf_of({3, 4}, "w");
  Tape tape;
  Var h = mul(x, 2.0), y = sum(add(h, w));
  BackwardWalk walk(tape, y);
  while (walk.next() != tape.node_of(h)) walk.step();
  walk.set_gradient(tape.node_of(h), {});
  CHECK(walk.next() != tape.node_of(h));
  while (walk.next() >= 0) walk.step();
  CHECK_FALSE(x.grad().defined());
  CHECK(list(w.grad()) == std::vector<double>{1, 1});
}

TEST_CASE("a walk may leave the leaves' gradients alone", "[walk]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  const Var y = sum(x * x);
  x.set_grad(tensor({7, 7}, DType::Float64));
  BackwardWalk walk(tape, y, ones({}, DType::Float64), {.retain = true}, false);
  WalkStep last;
  while (walk.next() >= 0) last = walk.step();
  CHECK(list(last.dy) == std::vector<double>{2, 4});
  CHECK(list(x.grad()) == std::vector<double>{7, 7});
}

TEST_CASE("hooks, watching and retain are as in backward", "[walk]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Watch watch(tape, "h");
  Var h = named(mul(x, 2.0), "h");
  Hook hook(tape, "h", [](const Var& g) { return mul(g, 10.0); });
  Var y = sum(h);
  {
    BackwardWalk walk(tape, y, {.retain = true});
    walk.step();
    CHECK(list(walk.gradient(tape.node_of(h))) == std::vector<double>{1, 1});
    CHECK(list(walk.step().dy) == std::vector<double>{10, 10});
    walk.step();
    CHECK(walk.next() == -1);
  }
  CHECK(list(watch.grad_of(h)) == std::vector<double>{10, 10});
  CHECK(list(x.grad()) == std::vector<double>{20, 20});
  BackwardWalk again(tape, y);
  while (again.next() >= 0) again.step();
  CHECK(list(x.grad()) == std::vector<double>{40, 40});
  BackwardWalk third(tape, y);
  CHECK(contains(error_of<StateError>([&] { third.step(); }), "used up"));
  CHECK(third.next() == -1);  // an exception ends it
}

TEST_CASE("between steps the tape records as before", "[walk]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var y = sum(mul(x, 2.0));
  BackwardWalk walk(tape, y);
  walk.step();
  Var other = exp(x);
  CHECK(tape.node_of(other) == static_cast<int>(tape.nodes().size()) - 1);
  while (walk.next() >= 0) walk.step();
  CHECK(list(x.grad()) == std::vector<double>{2, 2});
}

TEST_CASE("a walk can be recorded, and its gradients differentiated", "[walk]") {
  Var x = leaf_of({2, 3});
  Tape tape;
  auto size = [&] { return tape.nodes().size(); };
  Var y = sum(mul(mul(x, x), x));
  auto before = size();
  BackwardWalk walk(tape, y, {.create_graph = true});
  while (walk.next() >= 0) walk.step();
  CHECK(size() > before);
  CHECK(list(x.grad()) == std::vector<double>{12, 27});
}

TEST_CASE("a walk complains as backward does", "[walk]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, 2.0), y = sum(h);
  CHECK(contains(error_of<ShapeError>([&] { BackwardWalk(tape, h); }), "one element"));
  CHECK(contains(error_of<StateError>([&] { BackwardWalk(tape, Var(ones({1}))); }),
                 "not computed from any trainable leaf"));
  CHECK_FALSE(error_of<ShapeError>([&] { BackwardWalk(tape, h, ones({3})); }).empty());
  BackwardWalk walk(tape, y);
  int root = walk.next(), node = tape.node_of(h);
  CHECK(contains(error_of<ShapeError>([&] { walk.set_gradient(node, ones({2})); }), "float64"));
  walk.step();
  CHECK(contains(error_of<StateError>([&] { walk.set_gradient(root, scalar(1)); }), "was taken"));
  CHECK(contains(error_of<StateError>([&] { walk.set_gradient(99, scalar(1)); }), "99"));
  while (walk.next() >= 0) walk.step();
  CHECK(contains(error_of<StateError>([&] { walk.step(); }), "at its end"));
}

}  // namespace test_walk
