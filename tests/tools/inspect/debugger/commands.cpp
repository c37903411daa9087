// The commands: what they say, names and parts, what goes wrong.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <unistd.h>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/tools/inspect/debugger/common.hpp"
#include "tools/gradient_cases/spec.hpp"
#include "tools/inspect/debugger/difference.hpp"
#include "tools/inspect/debugger/show.hpp"
#include "tools/inspect/debugger/why.hpp"
#include "tools/measure/statistics.hpp"

namespace test_commands {

using namespace glim;
using namespace glim::step;

namespace {

// tanh with the square forgotten: dx = dy (1 - y).
struct WrongTanh final : Unary<WrongTanh> {
  static constexpr Formula formula{"wrong_tanh", "y = tanh x", {"dx = dy (1 - y)"}};
  Tensor forward(const Tensor& x) {
    save_output();
    return glim::tanh(x);
  }
  Var dx(const Var& dy) const { return dy * (1 - y()); }
};

// The identity plus the number of calls.
struct Restless final : Unary<Restless> {
  static constexpr Formula formula{"wrong_restless", "y = x + n", {"dx = dy"}};
  Tensor forward(const Tensor& x) {
    static double calls = 0;
    return glim::add(x, ++calls);
  }
  Var dx(const Var& dy) const { return dy; }
};

std::string error_of(Driven& d, const std::string& line) {
  try {
    d(line);
  } catch (const Error& e) {
    return e.one_line();
  }
  return "";
}

}  // namespace

TEST_CASE("back gives the state before, bit for bit, with the changes that were set") {
  for (const char* changes :
       {"", "set *self_attn.scores zero\nset decoder.layers.0.linear1.add scale 3"}) {
    Driven d;
    d(changes);
    d("next 40");
    const int here = d.pass.current();
    std::vector<Tensor> before, leaves;
    for (int i = 0; i < d.pass.size(); ++i) before.push_back(d.pass.gradient(i));
    for (auto& [name, g] : d.example.gradients()) leaves.push_back(g.defined() ? g.clone() : g);
    d("next 30");
    CHECK(d.pass.current() != here);
    CHECK(contains(d("back 30"), "=> #"));
    REQUIRE(d.pass.current() == here);
    CHECK(d.pass.taken() == 40);
    int compared = 0;
    for (int i = 0; i < d.pass.size(); ++i) {
      const Tensor now = d.pass.gradient(i), &was = before[static_cast<std::size_t>(i)];
      REQUIRE(now.defined() == was.defined());
      if (!now.defined()) continue;
      CHECK(all(equal(now, was)).item() == 1);
      ++compared;
    }
    CHECK(compared > 40);
    std::size_t at = 0;
    for (auto& [name, g] : d.example.gradients()) {
      const Tensor& was = leaves[at++];
      REQUIRE(g.defined() == was.defined());
      if (g.defined()) CHECK(all(equal(g, was)).item() == 1);
    }
    d("back 40");
    CHECK(d.pass.taken() == 0);
    CHECK(contains(error_of(d, "back"), "only 0 nodes were taken"));
    CHECK(contains(error_of(d, "reverse-continue"), "at its beginning"));
  }
}

TEST_CASE("reverse-continue goes to the breakpoint before") {
  Driven d;
  d("break *self_attn.probs\ncontinue");
  const int first = d.pass.current();
  d("continue");
  CHECK(d.pass.current() != first);
  CHECK(contains(d("reverse-continue"), "breakpoint 1, *self_attn.probs\n=> #"));
  CHECK(d.pass.current() == first);
  CHECK(contains(d("rc"), "=> #"));
  CHECK(d.pass.taken() == 0);
}

TEST_CASE("a breakpoint with a condition stops where the gradient meets it") {
  Driven d;
  CHECK(contains(d("break if norm < 1e-3"), "breakpoint 1: any node if norm < 1e-3"));
  d("continue");
  REQUIRE(d.pass.current() >= 0);
  CHECK(statistics(d.pass.gradient(d.pass.current())).norm < 1e-3);
  for (int i : d.pass.order()) CHECK(statistics(d.pass.gradient(i)).norm >= 1e-3);
  d("delete\nbreak *scores if zero\nset encoder.layers.0.self_attn.probs zero\ncontinue");
  CHECK(d.pass[d.pass.current()].path == "encoder.layers.0.self_attn.scores");
  CHECK(contains(d("b if nan\nb decoder.layers.0.linear1.weight if max>0\nc"),
                 "linear1.weight if max>0"));
  for (const char* wrong : {"break if", "break if norm", "break if norm >", "break if norm > x",
                            "break if size > 1", "break if norm > nan", "break if norm > 1e999"})
    CHECK(contains(error_of(d, wrong), "is no condition"));
  CHECK(contains(error_of(d, "break a b if nan"), "one word too many"));
}

TEST_CASE("why: the ways of every node and parameter add up to its gradient") {
  for (const char* changes :
       {"", "set *self_attn.scores scale 0.5\nset decoder.layers.0.linear1.add scale 3"}) {
    Driven d;
    d(changes);
    d("continue");
    std::vector<Tensor> leaves;
    for (auto& [name, g] : d.example.gradients()) leaves.push_back(g.clone());
    std::set<std::string> kinds;
    for (int i : d.pass.order()) {
      if (!d.pass[i].is_leaf() && i % 7) continue;
      const Paths ways = ways_to(d.pass, i);
      INFO(d.pass[i].path << ", norm " << ways.norm);
      double shares = 0;
      for (const Path& w : ways.all) {
        shares += w.share;
        kinds.insert(w.kind);
      }
      if (ways.norm < 1e-9) continue;                         // key biases: rounding
      CHECK(ways.gap < (d.pass[i].is_leaf() ? 1e-6 : 1e-5));  // float32
      CHECK(std::abs(shares - 1) < (d.pass[i].is_leaf() ? 1e-6 : 1e-5));
    }
    CHECK(kinds == std::set<std::string>{"feed-forward", "key", "query", "skip", "value"});
    std::size_t at = 0;
    for (auto& [name, g] : d.example.gradients()) CHECK(all(equal(g, leaves[at++])).item() == 1);
    CHECK(contains(d("why encoder.layers.0.linear2.weight"), "add up to the gradient, except for"));
    // The picture has a cell for each way.
    const std::string file = std::filesystem::temp_directory_path() /
                             ("glim-why-" + std::to_string(::getpid()) + ".svg");
    CHECK(contains(d("why encoder.layers.0.linear2.weight " + file), file));
    std::ifstream in(file);
    const std::string svg{std::istreambuf_iterator<char>(in), {}};
    for (const char* name : {"shares of the gradient of encoder.layers.0.linear2.weight",
                             "decoder.layers.0.multihead_attn", "value 1", "key 0"})
      CHECK(contains(svg, name));
    std::filesystem::remove(file);
    CHECK(contains(error_of(d, "why encoder.layers.0.norm*.weight " + file),
                   "a picture shows one node"));
    d("run");
    CHECK(contains(error_of(d, "why encoder.layers.0.linear2.weight"), "has not reached it"));
  }
}

TEST_CASE("breakpoints stop at every node of the name, and can be removed") {
  Driven d;
  CHECK(contains(d("break *self_attn.probs"), "breakpoint 1: *self_attn.probs (4 nodes, 4 still"));
  d("b multihead_attn.scores");
  std::string at = d("continue");
  CHECK(contains(at, "breakpoint 2, multihead_attn.scores"));
  CHECK(contains(at, "=> #"));
  CHECK(contains(at, "decoder.layers.1.multihead_attn.scores"));
  CHECK(contains(d("c"), "decoder.layers.1.self_attn.probs"));
  CHECK(contains(d("info breakpoints"), "1  *self_attn.probs  4 nodes, hit 1 time\n2  "));
  d("delete 1");
  CHECK(contains(d("c"), "decoder.layers.0.multihead_attn.scores"));
  CHECK(contains(error_of(d, "delete 1"), "no breakpoint 1"));
  d("delete");
  CHECK(contains(d("info b"), "no breakpoints"));
  CHECK(contains(d("continue"), "the pass is over"));
  CHECK(contains(error_of(d, "next"), "`run`"));
  CHECK(contains(error_of(d, "continue"), "`run`"));
  CHECK(contains(d("run"), "=> #"));
  d("break decoder.layers.1.linear2.weight");
  CHECK(contains(d("next 100000"), "breakpoint 3, decoder.layers.1.linear2.weight\n=> #"));
  CHECK(contains(d("next 100000"), "the pass is over"));
}

TEST_CASE("an interrupted command stops where it is") {
  bool stop = true;
  SmallExample example;
  Pass pass([&] { return example.loss(); });
  std::string said;
  Debugger debugger(
      pass, [&](const std::string& text) { said += text; }, [&] { return stop; });
  debugger.run("continue");
  CHECK(contains(said, "interrupted\n=> #"));
  CHECK(pass.taken() == 1);
  debugger.run("next 5");
  CHECK(pass.taken() == 2);
  std::string what;
  try {
    debugger.run("diff");
  } catch (const std::exception& e) {
    what = e.what();
  }
  CHECK(contains(what, "interrupted"));
  stop = false;
  debugger.run("continue");
  CHECK(pass.current() == -1);
}

TEST_CASE("each stop shows the line of the forward pass that made the node") {
  Driven d;
  d("break decoder.layers.1.multihead_attn.probs\nbreak decoder.layers.0.linear1.add");
  auto shows = [&](const char* line) { return std::regex_search(d("continue"), std::regex(line)); };
  CHECK(shows("\n   multihead.cpp:[0-9]+  .*heads.attend\\(.*\n"));
  CHECK(contains(d("where"), "called at\n   multihead.cpp:"));
  CHECK(shows("\n   linear.cpp:[0-9]+  Var Linear::forward.*\n"));
}

TEST_CASE("up and down follow the graph, and leave the pass alone") {
  Driven d;
  d("break decoder.layers.1.multihead_attn.probs\ncontinue");
  int probs = d.pass.current();
  CHECK(contains(d("down"), "decoder.layers.1.multihead_attn.scores"));
  std::string up = d("up");
  CHECK(contains(up, "#" + std::to_string(probs) + " "));
  CHECK(contains(d("where ."), "multihead.cpp:"));
  CHECK(contains(d("where ."), "in decoder.layers.1.multihead_attn"));
  CHECK(d.pass.current() == probs);
  d("down\ndown\ndown");
  CHECK_FALSE(contains(d("stats"), "#" + std::to_string(probs) + " "));
  CHECK(contains(error_of(d, "down 9"), "inputs on the tape, not 9"));
  d("next");  // what is looked at is the place again
  CHECK(contains(d("where"), "#" + std::to_string(d.pass.current()) + " "));
  d("run");
  CHECK(contains(error_of(d, "up"), "read by nothing"));
  d("down 1\nup");
  CHECK(contains(d("graph"), "the loss: read by nothing"));
}

TEST_CASE("list writes a module out, and marks the node of its own layer") {
  Driven d;
  d("break encoder.layers.1.self_attn.probs\ncontinue");
  CHECK(contains(d("list encoder.layers.1.self_attn"), "\n=> probs = softmax("));
  CHECK(!contains(d("list encoder.layers.0.self_attn"), "=>"));
  CHECK(!contains(d("list encoder.layers.1"), "Gradients were changed"));
  d("set encoder.layers.1.self_attn.probs zero");
  CHECK(contains(d("list encoder.layers.1"), "Gradients were changed by `set`"));
  CHECK(contains(error_of(d, "list encodr"), "nearest"));
}

TEST_CASE("list shows the rule of every op, by the lines at which it runs") {
  Driven d;
  std::string text = d("list decoder.layers.1.multihead_attn.probs");
  CHECK(contains(text, "the rule of masked_softmax\n  softmax.cpp:"));
  CHECK(contains(text, "    return y * (dy - sum(dy * y, {axis}, true));\n"));
  CHECK(rule_text(d.pass, 0).empty());  // a leaf
  std::set<std::string> seen, without_code;
  for (const specs::Family& family : specs::families())
    for (const specs::Spec& spec : family.specs) {
      specs::Vars x;
      for (const Tensor& t : spec.inputs(1)) x.push_back(Var::leaf(t));
      Pass pass([&] { return sum(spec.f(x)); });
      for (int i = 0; i < pass.size(); ++i) {
        if (pass[i].is_leaf()) continue;
        const std::string op(pass[i].op), rule = rule_text(pass, i);
        INFO(op << ", " << spec.name << ": " << rule);
        CHECK(rule.starts_with("the rule of " + op + "\n"));
        if (seen.insert(op).second) without_code.insert(op);
        if (contains(rule, ".cpp:")) without_code.erase(op);
      }
    }
  for (std::string_view op : registered_ops())
    if (!op.starts_with("wrong_") && !op.starts_with("own_") && op != "foreign" &&
        op != "number")  // of tests, and of checkers
      CHECK(seen.contains(std::string(op)));
  // These hand dy on, or run again: their equations are shown.
  CHECK(without_code == std::set<std::string>{"add", "recomputed", "shift"});
  Pass alone([] {
    Var x = Var::leaf(ones({2}));
    return sum(x + 1);
  });
  CHECK(contains(rule_text(alone, 1), "the rule of shift\n    dx = dy\n"));
}

TEST_CASE("values and gradients are printed, whole or in part") {
  Driven d;
  d("break decoder.layers.0.self_attn.scores\ncontinue");
  CHECK(contains(d("print"), "self_attn.scores  (1, 2, 3, 3) float32"));
  CHECK(contains(d("print d"), "d decoder.layers.0.self_attn.scores  (1, 2, 3, 3) float32"));
  CHECK(contains(d("p d .[0,1,:,0:2]"), ".scores[0,1,:,0:2]  (3, 2) float32"));
  CHECK(contains(d("p [0,-1, 0]"), "[0,-1,0]  (3,) float32"));
  CHECK(contains(d("print #0[0]"), "#0 "));
  CHECK(contains(d("p d encoder.layers.0.self_attn.scores"), "0 of 1 readers"));
  CHECK(contains(d("stats"), "zeros"));
  CHECK(contains(d("formula"), "-> #"));
  CHECK(contains(d("saved encoder.layers.0.self_attn.probs"), "its output"));
  CHECK(contains(error_of(d, "p .[0,0,0,0,0]"), "more places"));
  CHECK(contains(error_of(d, "p .[0,0,9]"), "9"));
  CHECK(contains(error_of(d, "p .[x]"), "'x' is neither"));
  CHECK(contains(error_of(d, "p .[0:99]"), "outside"));
  CHECK(contains(error_of(d, "p .[0"), "does not end in ]"));
}

TEST_CASE("every node agrees with differences: its gradient with the loss's, its op with its own") {
  Driven d;
  d("continue");
  Index compared = 0, inputs = 0, gradients = 0, leaves = 0;
  for (int i = 0; i < d.pass.size(); ++i) {
    Difference found = difference(d.pass, i, 3);
    const std::string text = to_text(d.pass, i, found);
    INFO(text);
    CHECK_FALSE(contains(text, "WRONG"));
    CHECK(found.in_float64);
    REQUIRE(found.gradient);
    gradients += found.gradient->checked - found.gradient->undecidable;
    leaves += d.pass[i].is_leaf();
    for (const GradcheckEntry& k : found.inputs) compared += k.checked - k.undecidable;
    inputs += static_cast<Index>(found.inputs.size());
  }
  CHECK(leaves > 60);
  CHECK(inputs > 300);
  CHECK(compared > 2 * inputs);
  CHECK(gradients > 2 * d.pass.size());
}

TEST_CASE("diff finds a gradient that was changed, there and below, and calls the ops right") {
  Driven d;
  std::string at = "decoder.layers.1.multihead_attn.context";
  std::string above = "decoder.layers.1.multihead_attn.out_proj.bias";
  std::string below = "decoder.layers.1.multihead_attn.probs";
  SECTION("doubled") { d("set " + at + " scale 2\nbreak " + at + "\ncontinue"); }
  SECTION("a twentieth more") { d("set " + at + " scale 1.05\nbreak " + at + "\ncontinue"); }
  SECTION("zeros") { d("set " + at + " zero\nbreak " + at + "\ncontinue"); }
  SECTION("its sign") { d("set " + at + " scale -1\nbreak " + at + "\ncontinue"); }
  std::string said = d("diff");
  CHECK(contains(said.substr(0, said.find("op against")), "WRONG at "));
  CHECK_FALSE(contains(said.substr(said.find("op against")), "WRONG"));
  d("continue");
  CHECK(contains(d("diff " + below), "WRONG"));
  CHECK_FALSE(contains(d("diff " + above), "WRONG"));
  CHECK(contains(d("diff decoder.layers.1.multihead_attn.in_proj_weight"), "WRONG"));
  d("run\ncontinue");
  CHECK(contains(d("diff " + at), "agrees"));
  CHECK_FALSE(contains(d("diff " + at), "WRONG"));
}

TEST_CASE("diff finds a planted wrong gradient, and says where it is worst") {
  Var x = Var::leaf(tensor({0.5, -1, 2}), "x");
  int wrong = -1;
  Pass pass([&] {
    Var y = apply(WrongTanh{}, mul(x, 1.0));
    wrong = Tape::current()->node_of(y);
    return sum(mul(y, y));
  });
  std::string said;
  Debugger debugger(pass, [&](const std::string& text) { said += text; });
  debugger.run("diff wrong_tanh");  // its turn is to come
  CHECK(contains(said, "random gradient"));
  CHECK(contains(said, "WRONG at 3 of them"));
  debugger.run("next 2");
  REQUIRE(pass.current() == wrong);
  Difference d = difference(pass, wrong);
  CHECK(d.own_gradient);
  REQUIRE(d.inputs.size() == 1);
  CHECK(d.inputs[0].failed == 3);
  // At -1: y (1 - y) against y (1 - y²).
  CHECK(d.inputs[0].index == Shape{1});
  double y = std::tanh(-1.0);
  CHECK(std::abs(d.inputs[0].analytic - 2 * y * (1 - y)) < 1e-5);
  CHECK(std::abs(d.inputs[0].numeric - 2 * y * (1 - y * y)) < 1e-5);
  // The gradient that comes in is right; what is below has got a wrong one, by right ops.
  REQUIRE(d.gradient);
  CHECK(d.gradient->failed == 0);
  pass.step();
  Difference below = difference(pass, wrong - 1);
  REQUIRE(below.gradient);
  CHECK(below.gradient->failed == 3);
  REQUIRE(below.inputs.size() == 1);
  CHECK(below.inputs[0].failed == 0);
}

TEST_CASE("diff compares with the sum of a pass's outputs, each times its gradient") {
  Var x = Var::leaf(tensor({0.5, -1, 2}), "x");
  Tape tape({.replay = true});
  const Var y = mul(x, x);
  Pass pass(tape, y, tensor({1, -3, 2}));
  while (pass.current() >= 0) pass.step();
  const Difference d = difference(pass, 0);
  REQUIRE(d.gradient);
  CHECK(d.gradient->checked == 3);
  CHECK(d.gradient->failed == 0);
}

TEST_CASE("diff refuses an op that gives other values when it runs again") {
  Var x = Var::leaf(tensor({0.5, -1, 2}), "x");
  Pass pass([&] { return sum(apply(Restless{}, mul(x, 1.0))); });
  pass.step();
  CHECK_THROWS_WITH(
      difference(pass, 2),
      Catch::Matchers::EndsWith("is not deterministic: two runs on the same inputs differ"));
}

TEST_CASE("diff calls a kink undecidable, and compares no more than asked for") {
  Var x = Var::leaf(tensor({0, 1, -1, 0}), "x");
  Pass pass([&] { return sum(relu(mul(x, 1.0))); });
  int relu_node = 2;
  REQUIRE(pass[relu_node].op == "relu");
  pass.step();
  Difference d = difference(pass, relu_node);
  CHECK(d.inputs[0].undecidable == 2);
  CHECK_FALSE(contains(to_text(pass, relu_node, d), "WRONG"));
  CHECK(contains(to_text(pass, relu_node, d), "2 undecidable"));
  CHECK(difference(pass, relu_node, 2).inputs[0].checked == 2);
  CHECK_THROWS_AS(difference(pass, 0), StateError);
  while (pass.current() >= 0) pass.step();
  CHECK(difference(pass, 0).gradient->undecidable == 2);
}

TEST_CASE("a part of a gradient can be set, named as inspect names it") {
  const std::string at = "decoder.layers.1.multihead_attn.scores";
  for (const char* part : {"[0,1]", "[0, 1]", ":1", "[:,-1]"}) {
    INFO(part);
    Driven d;
    CHECK(contains(d("set " + at + part + " zero"), " zero: 1 node"));
    d("break " + at + "\ncontinue");
    const Tensor g = d.pass.gradient(d.pass.current());
    CHECK(max(abs(select(g, 1, 1))).item() == 0);
    CHECK(max(abs(select(g, 1, 0))).item() > 0);
    const Tensor before = g.clone();
    d("set .[0,0] scale 2");
    CHECK(max(abs(sub(select(d.pass.gradient(d.pass.current()), 1, 0),
                      mul(select(before, 1, 0), 2.0))))
              .item() == 0);
  }
}

TEST_CASE("unknown commands and names are answered with the nearest") {
  Driven d;
  CHECK(contains(error_of(d, "set scores:99 zero"), "has the heads 0 to "));
  CHECK(contains(error_of(d, "set scores[0 zero"), "needs NAME"));
  CHECK(contains(error_of(d, "set .[0] zero"), "more places"));
  CHECK(contains(error_of(d, "set scores[0,0] freeze"), "a whole node is frozen"));
  CHECK(contains(error_of(d, "brake"), "nearest: break"));
  CHECK(contains(error_of(d, "s"), "may mean stats, saved, set"));
  CHECK(contains(error_of(d, "print decoder.layers.0.self_attn.score"),
                 "nearest: decoder.layers.0.self_attn.scores"));
  CHECK(contains(error_of(d, "print score"), "nearest: scores"));
  CHECK(contains(error_of(d, "print self_atn.scores"), "nearest: self_attn.scores"));
  CHECK(contains(error_of(d, "break *.prob"), "no node is called *.prob"));
  CHECK(contains(error_of(d, "print #9999"), "they are #0 to #"));
  CHECK(contains(error_of(d, "print *"), "nodes; at most"));
  CHECK(contains(error_of(d, "set scores zeros"), "nearest: zero"));
  CHECK(contains(error_of(d, "set scores scale"), "needs a number"));
  CHECK(contains(error_of(d, "set scores scale nan"), "needs a number"));
  CHECK(contains(error_of(d, "set scores"), "needs NAME"));
  CHECK(contains(error_of(d, "next 0"), "above 0"));
  CHECK(contains(error_of(d, "info brekpoints"), "nearest: breakpoints"));
  CHECK(contains(error_of(d, "run now"), "'now' is one word too many"));
  d("next 50");
  CHECK(contains(error_of(d, "set #" + std::to_string(d.pass.loss()) + " zero"),
                 "the pass has gone past"));
  CHECK(d("") == "");
  CHECK(contains(error_of(d, "print " + std::string(1000000, 'x')), "characters"));
  CHECK(contains(error_of(d, "export"), "needs a file"));
  CHECK(contains(error_of(d, "export nowhere/gradients.safetensors"), "nowhere"));
  CHECK(contains(error_of(d, "export gradients.safetensors nonsense"), "no node is called"));
  CHECK(contains(error_of(d, "diff encoder.layers.0.linear1.weight"),
                 "the pass has not reached it yet"));
  CHECK(contains(error_of(d, "next 99999999999999999999"), "not a whole number"));
  CHECK(contains(error_of(d, "set scores scale 1e999"), "needs a number"));
  CHECK(contains(error_of(d, "set scores scale 1e-50"), "1e-50 is 0 in float32"));
  CHECK(contains(error_of(d, "set scores scale 1e39"), "1e+39 is inf in float32"));
  CHECK(contains(error_of(d, "print #-1"), "no node"));
  CHECK(contains(error_of(d, "up 0"), "above 0"));
  CHECK(contains(error_of(d, "help me"), "no such command"));
  CHECK(contains(d("help set"), "freeze"));
  CHECK(contains(d("help"), "exit status"));
  d("quit");
  CHECK_FALSE(d.go_on);
}

TEST_CASE("commands and paths are completed") {
  Driven d;
  CHECK(d.debugger.completions("", "st") == std::vector<std::string>{"stats"});
  auto paths = d.debugger.completions("print d ", "decoder.layers.1.multihead_attn.sc");
  CHECK(paths == std::vector<std::string>{"decoder.layers.1.multihead_attn.scores"});
  CHECK(d.debugger.completions("set scores ", "") ==
        std::vector<std::string>{"zero", "freeze", "scale"});
  CHECK(d.debugger.completions("info ", "b") == std::vector<std::string>{"breakpoints"});
  CHECK(d.debugger.completions("nonsense ", "d").empty());
}

}  // namespace test_commands
