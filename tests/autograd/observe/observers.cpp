// Observers: told of all that happens, asked before anything changes, and gone without a trace.
#include "autograd/observer.hpp"
#include "autograd/ops.hpp"
#include "tests/autograd/common.hpp"

namespace test_observers {

using namespace glim;

namespace {

struct Diary final : Observer {
  void recorded(int node, const Tensor&) override { line("recorded", node); }
  void computed(const Formula& f, const Tensor&) override { text += std::string(f.op) + " "; }
  void arrived(int node, const Var&) override { line("arrived", node); }
  void rule_begins(int node) override { line("begins", node); }
  void rule_ended(int node) override { line("ended", node); }
  void flow(const Flow& f) override {
    text += "flow" + std::to_string(f.sender) + ">" + std::to_string(f.node) + " ";
  }
  void line(const char* what, int node) { text += what + std::to_string(node) + " "; }
  std::string text;
};

struct Doubling final : Observer {
  Var change(int, Var dy) override { return 2 * dy; }
};

}  // namespace

TEST_CASE("an observer is told of each step, in order", "[observers]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Diary diary;
  tape.observe(diary);
  Var y = sum(x * x);
  tape.backward(y);
  CHECK(diary.text ==
        "mul recorded0 recorded1 sum recorded2 arrived2 begins2 ended2 flow2>1 "
        "arrived1 begins1 ended1 flow1>0 flow1>0 arrived0 ");
  diary.stop();
  diary.text.clear();
  exp(x);
  CHECK(diary.text.empty());
}

TEST_CASE("an observer is told of a gradient before it is added", "[observers]") {
  Var a = leaf_of({1}, "a"), b = leaf_of({2}, "b");
  Tape tape;
  Var y = sum(a * b + a * b);  // a, b, two products, their sum, y: nodes 0 to 5
  Diary diary;
  tape.observe(diary);
  tape.backward(y, {.create_graph = true});
  const std::string text = diary.text.substr(diary.text.find("ended2 "));
  CHECK(contains(text, "ended2 flow2>0 add recorded"));
  CHECK(contains(text.substr(text.find("flow2>1 ")), "flow2>1 add recorded"));
}

TEST_CASE("what an observer changes is what goes on", "[observers]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Doubling doubling;
  tape.observe(doubling);
  tape.backward(sum(3 * x));
  CHECK(list(x.grad()) == std::vector<double>{24, 24});  // at sum, scale and the leaf
}

TEST_CASE("an observer may replace a value that gets a name", "[observers]") {
  struct Tripling final : Observer {
    Var on_value(std::string_view path, Var v) override {
      return path == "layer.hidden" ? 3 * v : v;
    }
  } tripling;
  Var x = leaf_of({1, 2});
  Tape tape;
  tape.observe(tripling);
  Scope scope("layer");
  Var hidden = named(x + 1.0, "hidden"), other = named(x + 1.0, "other");
  CHECK(list(hidden.value()) == std::vector<double>{6, 9});
  CHECK(list(other.value()) == std::vector<double>{2, 3});
  tape.backward(sum(hidden));
  CHECK(list(x.grad()) == std::vector<double>{3, 3});
}

TEST_CASE("an observer may replace what a part of the model made", "[observers]") {
  struct Skipping final : Observer {
    Var on_module_output(std::string_view path, const Var& in, Var out) override {
      return path == "layer.norm" ? in : out;
    }
  } skipping;
  Var x = leaf_of({1, 2});
  {
    Tape tape;
    tape.observe(skipping);
    Scope scope("layer");
    CHECK(list(module_output("norm", x, 5 * x).value()) == std::vector<double>{1, 2});
    CHECK(list(module_output("other", x, 5 * x).value()) == std::vector<double>{5, 10});
  }
  CHECK(list(module_output("norm", x, 5 * x).value()) == std::vector<double>{5, 10});
}

TEST_CASE("a region that runs again later is an op with a time of its own", "[observers]") {
  struct Times final : Observer {
    void op_started(double seconds) override { list.push_back(seconds); }
    std::vector<double> list;
  } times;
  Var x = leaf64({200, 200}, 1);
  Tape tape;
  tape.observe(times);
  recomputed([&] { return matmul(x, x); });
  REQUIRE(times.list.size() == 2);  // of the product within it, and of the region
  CHECK(times.list[0] == 0);
  CHECK(times.list[1] > 0);
}

TEST_CASE("with a watch on every node gradients have the bits of without", "[observers]") {
  Var x = leaf64({4, 6}, 1), w = leaf64({5, 6}, 2), g = leaf64({5}, 3);
  auto run = [&](bool watched) {
    Tape tape;
    Watch watch(tape);
    if (watched) watch.add("*");
    Var loss = sum(gelu(layer_norm(linear(x, w, {}), g, g)) * softmax(linear(x, w, g)));
    tape.backward(loss);
    std::vector<Tensor> list;
    for (const Var& v : {x, w, g}) {
      list.push_back(v.grad());
      v.zero_grad();
    }
    if (watched) {
      CHECK(watch.values().size() == tape.nodes().size());
      for (const Watched& v : watch.values()) CHECK(v.grad.defined());
    }
    return list;
  };
  auto without = run(false), with = run(true);
  for (std::size_t i = 0; i < with.size(); ++i) CHECK(same_bits(without[i], with[i]));
}

namespace {

struct WrongShape final : Op {
  static constexpr Formula formula{"planted.wrong_shape", "y = a + b", {"da = dy", "db = dy"}};
  Tensor forward(const Tensor& a, const Tensor&) { return a.clone(); }
  Grads gradient(const Var& dy) const override { return {{0, dy}, {1, sum(dy)}}; }
};
struct Forgetful final : Op {
  static constexpr Formula formula{"planted.forgetful", "y = a + b", {"da = dy", "db = dy"}};
  Tensor forward(const Tensor& a, const Tensor&) { return a.clone(); }
  Grads gradient(const Var& dy) const override { return {{0, dy}}; }
};
struct PartOfFirst final : Op {
  static constexpr Formula formula{"planted.part_of_first", "y = a + b", {"da = dy", "db = dy"}};
  Tensor forward(const Tensor& a, const Tensor& b) { return add(a, b); }
  Grads gradient(const Var& dy) const override { return {{0, dy}, {1, dy}}; }
  Grads fast_gradient(const Var& dy) const override {
    return Grads([dy](const Tensor& total) { add_(total, dy.value()); });
  }
};
struct Unsaved final : Unary<Unsaved> {
  static constexpr Formula formula{"planted.unsaved", "y = x", {"dx = x dy"}};
  Tensor forward(const Tensor& x) { return x.clone(); }
  Var dx(const Var& dy) const { return x() * dy; }
};
struct SavesMore final : Unary<SavesMore> {
  static constexpr Formula formula{"planted.saves_more", "y = x", {"dx = dy"}};
  Tensor forward(const Tensor& x) {
    save(X, 7);
    return x.clone();
  }
  Var dx(const Var& dy) const { return dy; }
};
struct WritesSaved final : Unary<WritesSaved> {
  static constexpr Formula formula{"planted.writes_saved", "y = x", {"dx = x dy"}};
  Tensor forward(const Tensor& x) {
    save(X);
    x.fill_(3);
    return x.clone();
  }
  Var dx(const Var& dy) const { return x() * dy; }
};
// y = the sum of any number of inputs, of which the last is saved.
struct SavesLast final : Op {
  static constexpr Formula formula{"planted.saves_last", "y = Σ x", {"dx = last ⊙ dy"}};
  explicit SavesLast(int number) : last(number) {}
  Tensor forward(const std::vector<Tensor>& x) {
    save(last);
    Tensor y = x[0].clone();
    for (std::size_t k = 1; k < x.size(); ++k) y = add(y, x[k]);
    return y;
  }
  Grads gradient(const Var& dy) const override {
    Grads d;
    for (int k = 0; k <= last; ++k) d[k] = saved(last) * dy;
    return d;
  }
  int last;
};
struct KeepsLess final : Unary<KeepsLess> {
  static constexpr Formula formula{"planted.keeps_less", "y = x", {"dx = dy"}};
  Tensor forward(const Tensor& x) {
    keep(x);
    return x.clone();
  }
  Var dx(const Var& dy) const { return kept(5) * dy; }
};

}  // namespace

TEST_CASE("a rule that is wrong in form is named, with its input", "[observers]") {
  Var a = leaf_of({1, 2}, "a"), b = leaf_of({3, 4}, "b");
  auto message = [&](const Var& y, Tape& tape) { return error_of([&] { tape.backward(sum(y)); }); };
  Tape tape;
  std::string text = message(apply(WrongShape{}, a, b), tape);
  INFO(text);
  CHECK(contains(text, "planted.wrong_shape: its rule gives a gradient () float64 for b"));
  text = message(apply(Forgetful{}, a, b), tape);
  CHECK(contains(text, "planted.forgetful: its rule gives no gradient for b"));
  text = message(apply(PartOfFirst{}, Var(from_vector<double>({1, 2}, {2})), b), tape);
  CHECK(contains(text, "planted.part_of_first: its rule gives no gradient for b"));
  text = message(apply(Unsaved{}, a), tape);
  CHECK(contains(text, "planted.unsaved: the rule reads x, which forward did not save"));
  text = message(apply(KeepsLess{}, a), tape);
  CHECK(contains(text, "planted.keeps_less: the rule reads kept(5), and forward keeps 1"));
  CHECK(contains(error_of<StateError>([&] { apply(SavesMore{}, a); }),
                 "planted.saves_more: forward saves input 7 of 1"));
  CHECK(contains(error_of<StateError>([&] { apply(WritesSaved{}, a); }),
                 "planted.writes_saved: forward changes a value that it saved"));
}

TEST_CASE("an op of many inputs saves any of them", "[observers]") {
  for (int last : {0, 1, 2, 62, 63, 64, 99}) {
    std::vector<Var> xs;
    for (int k = 0; k <= last; ++k) xs.push_back(leaf_of({1.0 + k}));
    Tape tape;
    tape.backward(sum(apply(SavesLast(last), xs, Where::current())));
    for (const Var& x : xs) CHECK(x.grad().item() == 1.0 + last);
  }
}

}  // namespace test_observers
