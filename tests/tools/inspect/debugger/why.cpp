// The ways that a gradient came add up to it, for every parameter of every kind of model.
#include "tools/inspect/debugger/why.hpp"

#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/kinds/example.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/presets.hpp"
#include "tools/train/trainer.hpp"

namespace test_why {

using namespace glim;
using namespace glim::step;
using glim::test::TemporaryFile;

void check_every_parameter(const ExampleOptions& o) {
  const auto made = make_example(o);
  Example& example = *made;
  Pass pass([&] { return example.loss(); });
  while (pass.current() >= 0) pass.step();
  int parameters = 0;
  for (int i = 0; i < pass.size(); ++i) {
    if (!pass[i].is_leaf() || !pass.gradient(i).defined()) continue;
    const Paths ways = ways_to(pass, i);
    INFO(pass[i].path);
    double shares = 0;
    for (const Path& way : ways.all) shares += way.share;
    CHECK(ways.gap < 1e-6);
    if (ways.norm < 1e-12) continue;
    CHECK(shares == Approx(1).margin(1e-6));
    ++parameters;
  }
  CHECK(parameters > 5);
}

// A checkpoint of a run that has made no update, in a folder that is made.
std::string untrained(TrainOptions o, const std::string& folder) {
  std::filesystem::remove(folder);
  std::filesystem::create_directory(folder);
  o.out = folder;
  o.task = "files";
  o.set("layers", 2);
  o.set("d_model", 16);
  o.set("heads", 2);
  o.set("d_ff", 24);
  auto learner = make_learner(o);
  Trainer trainer(o, *learner, "");
  trainer.run({}, true);
  return folder;
}

TEST_CASE("the ways to a parameter add up to its gradient, in every kind of fresh model") {
  for (const char* kind : {"transformer", "rnn", "conv", "non-autoregressive", "gpt", "bert"}) {
    INFO(kind);
    ExampleOptions o;
    o.init = true;
    o.float64 = true;
    o.fresh.kind = kind;
    apply_preset(o.fresh, [](const std::string&) { return false; });
    o.fresh.set("layers", 1);
    o.fresh.set("d_model", 16);
    if (kind != std::string("rnn") && kind != std::string("conv")) {
      o.fresh.set("heads", 2);
      o.fresh.set("d_ff", 24);
    }
    o.source = "I have a cat";
    if (kind != std::string("gpt") && kind != std::string("bert")) o.target = "我有一只猫";
    check_every_parameter(o);
  }
}

TEST_CASE("and in models of a class") {
  ExampleOptions looked;
  looked.float64 = true;
  const TemporaryFile folder;
  TrainOptions o;
  SECTION("of a sentence") {
    const TemporaryFile labelled("a good day\tyes\na bad day\tno\n");
    o.kind = "classifier";
    o.labelled = labelled.path();
    looked.model = untrained(o, folder.path());
    looked.source = "a good bad day";
    check_every_parameter(looked);
  }
  SECTION("of an image") {
    using namespace std::string_literals;
    std::string pixels = "\0\0\x08\x03\0\0\0\x02\0\0\0\x04\0\0\0\x04"s;
    for (char c = 0; c < 32; ++c) pixels += static_cast<char>(3 * c);
    const TemporaryFile images(pixels), labels("\0\0\x08\x01\0\0\0\x02\0\x01"s);
    o.kind = "vit";
    o.images = images.path();
    o.labels = labels.path();
    o.set("patch", 2);
    o.batch_tokens = 0;
    o.batch_sentences = 2;
    looked.model = untrained(o, folder.path());
    looked.image = images.path() + ":1";
    check_every_parameter(looked);
  }
}

TEST_CASE("a gradient of zero came no way") {
  Var x = Var::leaf(tensor({-1, -2}), "x");
  Pass pass([&] { return sum(relu(x)); });
  while (pass.current() >= 0) pass.step();
  CHECK_THROWS_WITH(ways_to(pass, 0), "why: x: its gradient is zero");
}

}  // namespace test_why
