// The debugger changes no gradient by itself, and those that it is told to.
#include "tensor/io/safetensors.hpp"
#include "tests/tools/inspect/debugger/common.hpp"
#include "tests/tools/temporary_file.hpp"

namespace test_gradients {

using namespace glim;
using namespace glim::step;

namespace {

using Gradients = std::map<std::string, Tensor>;

Gradients leaf_gradients(const Pass& pass) {
  Gradients all;
  for (const PassNode& n : pass.nodes())
    if (n.is_leaf() && n.gradient.defined()) all[n.path] = n.gradient;
  return all;
}
bool same(const Gradients& a, const Gradients& b, const std::string& name) {
  return a.contains(name) && b.contains(name) && same_bits(a.at(name), b.at(name));
}
std::size_t same_ones(const Gradients& a, const Gradients& b) {
  std::size_t count = 0;
  for (auto& [name, g] : a) count += same(a, b, name);
  return count;
}
// The names that are in one alone, or whose bits differ.
std::string differing(const Gradients& a, const Gradients& b) {
  std::string names;
  for (auto& [name, g] : a)
    if (!same(a, b, name)) names += name + " ";
  for (auto& [name, g] : b)
    if (!a.contains(name)) names += name + " ";
  return names;
}
bool all_zero(const Tensor& x) {
  for (double e : x.to(DType::Float64).to_vector<double>())
    if (e != 0) return false;
  return true;
}

}  // namespace

TEST_CASE("a script over a whole pass reaches an ordinary backward's gradients, bit for bit") {
  Driven d;
  Gradients ordinary = d.example.ordinary();
  CHECK(ordinary.size() > 60);
  SECTION("in one go") { d("continue"); }
  SECTION("node by node, looking at everything on the way") {
    for (int steps = 0; d.pass.current() >= 0; ++steps) {
      d("next");
      if (d.pass.current() < 0) break;
      if (steps % 7 == 0)
        d("print d .\nstats\nformula\nsaved\nwhere\nlist\ngraph\ninfo breakpoints\nup\ndown");
      if (steps % 40 == 0 && !d.pass[d.pass.current()].is_leaf()) d("diff . 4");
    }
  }
  SECTION("from breakpoint to breakpoint") {
    d("break *probs\nb *.scores\nbreak *.norm2.*");
    while (d.pass.current() >= 0) d("c");
  }
  SECTION("started again half-way") { d("next 100\nset . zero\nnext 10\nrun\ncontinue"); }
  CHECK(d.pass.current() == -1);
  test::TemporaryFile temporary;
  std::string file = temporary.path();
  d("export " + file);
  Gradients stepped = leaf_gradients(d.pass), written;
  CHECK(differing(ordinary, stepped) == "");
  for (auto& [name, g] : read_safetensors(file).tensors) {
    REQUIRE(name.ends_with(".grad"));
    written[name.substr(0, name.size() - 5)] = g;
  }
  CHECK(differing(ordinary, written) == "");
}

TEST_CASE("zero on the query-key path leaves the value path untouched") {
  Driven d;
  Gradients ordinary = d.example.ordinary();
  std::string module;
  SECTION("of self-attention") { module = "decoder.layers.1.self_attn"; }
  SECTION("to the memory") { module = "decoder.layers.1.multihead_attn"; }
  SECTION("in the encoder") { module = "encoder.layers.1.self_attn"; }
  int scores = -1;
  for (int i = 0; i < d.pass.size(); ++i)
    if (d.pass[i].path == module + ".scores") scores = i;
  REQUIRE(scores >= 0);
  // The gradients of all nodes, untouched.
  d("continue");
  std::map<int, Tensor> before;
  for (int i = 0; i < d.pass.size(); ++i)
    if (Tensor g = d.pass.gradient(i); g.defined()) before[i] = g.clone();
  d("run\nset " + module + ".scores zero\ncontinue");
  Gradients cut = leaf_gradients(d.pass);
  // All that the scores are not computed from is taken before them, or is the value's way down.
  for (int i = scores + 1; i < d.pass.size(); ++i)
    CHECK((!before.contains(i) || d.pass[i].is_leaf() || same_bits(before[i], d.pass.gradient(i))));
  for (int i = 0; i < d.pass.size(); ++i)
    if (d.pass[i].path == module + ".value") CHECK(same_bits(before[i], d.pass.gradient(i)));
  CHECK(all_zero(d.pass.gradient(scores)));
  // Rows of W^Q, W^K, W^V in turn.
  for (const char* name : {".in_proj_weight", ".in_proj_bias"}) {
    Tensor was = ordinary.at(module + name), is = cut.at(module + name);
    CHECK(all_zero(narrow(is, 0, 0, 32)));
    CHECK_FALSE(all_zero(narrow(was, 0, 0, 16)));
    CHECK(same_bits(narrow(is, 0, 32, 16).contiguous(), narrow(was, 0, 32, 16).contiguous()));
  }
  // Gradients above the cut stay the same. Some below it change.
  CHECK(same(ordinary, cut, module + ".out_proj.weight"));
  CHECK(same(ordinary, cut, "decoder.layers.1.linear1.weight"));
  CHECK(same_ones(ordinary, cut) < ordinary.size() - 2);
}

TEST_CASE("freezing gives none, scaling is exact for powers of two") {
  Driven d;
  Gradients ordinary = d.example.ordinary();
  SECTION("a frozen parameter has no gradient, the others have theirs") {
    d("set encoder.layers.0.linear1.weight freeze\ncontinue");
    Gradients found = leaf_gradients(d.pass);
    CHECK(differing(found, ordinary) == "encoder.layers.0.linear1.weight ");
    CHECK(contains(d("print d encoder.layers.0.linear1.weight"), "frozen"));
  }
  SECTION("below a frozen value what is reached through it alone gets nothing") {
    d("set encoder.layers.1.self_attn.scores freeze\nset encoder.layers.1.self_attn.value "
      "freeze\ncontinue");
    Gradients found = leaf_gradients(d.pass);
    CHECK_FALSE(found.contains("encoder.layers.1.self_attn.in_proj_weight"));
    CHECK(same(found, ordinary, "encoder.layers.1.self_attn.out_proj.weight"));
  }
  SECTION("the loss itself scaled scales everything") {
    d("set . scale 0.5\nset . scale 0.5\ncontinue");
    Gradients found = leaf_gradients(d.pass);
    for (auto& [name, g] : ordinary) g = mul(g, 0.25);
    CHECK(differing(ordinary, found) == "");
  }
  SECTION("everything frozen, the current node among it") {
    CHECK(contains(d("set * freeze"), "the pass is over"));
    CHECK(leaf_gradients(d.pass).empty());
    CHECK(contains(d("run\ncontinue"), "the pass is over"));
    CHECK(differing(ordinary, leaf_gradients(d.pass)) == "");
  }
  SECTION("the loss frozen: the pass is over") {
    CHECK(contains(d("set . freeze"), "the pass is over"));
    CHECK(leaf_gradients(d.pass).empty());
  }
}

}  // namespace test_gradients
