// A patched pass has the bits of one in which the value was set; its estimates are the first terms of a Taylor series.
#include "tools/measure/patching.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/reference.hpp"
#include "tests/tools/inspect/common.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/measure/score_sources.hpp"

namespace test_patching {

using namespace glim;

namespace {

const std::string kCross = "decoder.layers.0.multihead_attn";

ExampleOptions options(const std::string& sentence = "I have a cat") {
  ExampleOptions o = small_options();
  o.float64 = true;
  o.source = sentence;
  o.target = "我有一只猫";
  return o;
}

Pass pass_with(const ExampleOptions& o) {
  const auto made = make_example(o);
  return pass_of(*made);
}

struct SetValue : Observer {
  SetValue(std::string p, Tensor v) : path(std::move(p)), value(std::move(v)) {}
  Var on_value(std::string_view name, Var v) override { return name == path ? Var(value) : v; }
  std::string path;
  Tensor value;
};

}  // namespace

TEST_CASE("a patch has the bits of the pass in which the value was set") {
  const Pass pass = pass_with(options()), other = pass_with(options("I have a dog"));
  const std::string path = kCross + ".context";
  const Tensor value = other[other.find(path)].value;
  const auto made = make_example(options());
  SetValue set(path, value);
  const Pass changed([&] {
    Tape::current()->observe(set);
    return made->loss();
  });
  CHECK(changed.loss_value() != pass.loss_value());
  CHECK(loss_with(pass, pass.find(path), Var(value)).item() == changed.loss_value());
  CHECK(loss_with(pass, pass.find(path), Var(pass[pass.find(path)].value)).item() ==
        pass.loss_value());
  const PatchTable table =
      patched_from(pass, other, {"encoder.layers.0.relu", "tgt_embed.index_select"});
  REQUIRE(table.rows.size() == 2);
  const int relu = pass.find("encoder.layers.0.relu");
  CHECK(table.rows[0].all.change ==
        loss_with(pass, relu, Var(other[relu].value)).item() - pass.loss_value());
  CHECK(table.rows[0].all.change != 0);
  CHECK(table.rows[1].all.change == 0);  // both have the same translation
}

TEST_CASE("the loss without a head is that of the pass with the head removed") {
  const Pass pass = pass_with(options());
  const std::vector<PatchEffect> heads = without_heads(pass, pass.find(kCross + ".probs"));
  REQUIRE(heads.size() == 2);
  for (std::size_t h = 0; h < 2; ++h) {
    ExampleOptions removed = options();
    removed.changes.remove_heads = {kCross + ":" + std::to_string(h)};
    CHECK(heads[h].change == pass_with(removed).loss_value() - pass.loss_value());
  }
  const auto made = make_example(options());
  const Inspection look = inspect(*made, {.attribution_steps = 0, .lens = false});
  for (const AttentionView& v : look.attention)
    if (v.module == kCross) CHECK(v.without[1].change == heads[1].change);
}

TEST_CASE("estimates are the first two terms of the loss along the patch") {
  const Pass pass = pass_with(options()), other = pass_with(options("I have a dog"));
  for (const char* name : {".context", ".probs", ".key"}) {
    const int node = pass.find(kCross + name);
    const Tensor d = sub(other[node].value, pass[node].value);
    const double step = 1e-2;
    const std::vector<PatchEffect> e =
        patch_effects(pass, node, {other[node].value, add(pass[node].value, mul(d, step))});
    CHECK(e[1].linear == Approx(step * e[0].linear).epsilon(1e-9));
    CHECK(e[1].second == Approx(step * step * e[0].second).epsilon(1e-9));
    const double left = std::abs(e[1].change - e[1].linear);
    CHECK(left > 0);
    CHECK(std::abs(e[1].change - e[1].linear - e[1].second) < 0.1 * left);
  }
  CHECK(PatchEffect{1, 1, 0.6}.misleads());
  CHECK_FALSE(PatchEffect{1, -1, 0.4}.misleads());
}

TEST_CASE("a table has each node and head, at all positions and at each") {
  const Pass pass = pass_with(options()),
             other = pass_with(options("My brother has a dog and a cat"));
  const PatchTable table = patched_from(
      pass, other,
      {"encoder.*.context", "src_positions.add", "decoder.layers.0.self_attn.context"});
  REQUIRE(table.rows.size() == 5);
  CHECK(table.rows[4].other_length == table.rows[4].length);  // the target is the same
  CHECK(table.rows[0].node == "src_positions.add");
  CHECK(table.rows[2].node == "encoder.layers.0.self_attn.context:1");
  CHECK(table.rows[0].other_length > table.rows[0].length);
  CHECK(std::ssize(table.rows[0].positions) == table.rows[0].length);
  double linear = 0;
  for (const PatchEffect& e : table.rows[1].positions) linear += e.linear;
  CHECK(linear == Approx(table.rows[1].all.linear));
  CHECK(patch_text(table).find("in the other sentence") != std::string::npos);
  CHECK(contains(error_of<ValueError>(
                     [&] { patched_from(pass, other, {"encoder.layers.0.self_attn.contxt"}); }),
                 "nearest: encoder.layers.0.self_attn.context"));
  CHECK(contains(error_of<ValueError>([&] { patched_from(pass, other, {"src_embed.weight"}); }),
                 "has no positions"));
}

}  // namespace test_patching
