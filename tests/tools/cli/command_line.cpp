// From what is typed, and from configuration files, to options; and what is said where that fails.
#include "tools/cli/command_line.hpp"

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/cli/suggest.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/toml.hpp"
#include "tools/kinds/kind.hpp"

namespace test_command_line {

using namespace glim;
using glim::test::message_of;
using glim::test::TemporaryFile;

struct Fields {
  std::string kind = "gpt", out = "model", config;
  std::int64_t layers = 3, width = 8;
  double rate = 0.5;
  bool bias = false;
  std::vector<std::string> files, names;
};

std::vector<Command> commands(Fields& f) {
  std::vector<Command> all;
  Command& c = all.emplace_back("train", "train a model");
  c.option("config", &f.config, "file of options").in_config = false;
  c.option("kind", &f.kind, "kind of model").choices = {"gpt", "rnn"};
  c.option("layers", &f.layers, "layers", kPositive);
  c.option("d-model", &f.width, "width", kPositive).kinds = {&kind_named("gpt")};
  c.option("rate", &f.rate, "learning rate", kNotNegative);
  c.option("bias", &f.bias, "biases");
  c.option("names", &f.names, "names").delimiter = ',';
  c.option("out", &f.out, "folder");
  c.argument("files", &f.files, "files");
  c.adjust = [&f](Command& command) {
    if (!command.given("rate") && f.kind == "rnn") {
      f.rate = 0.25;
      command.find("rate")->origin = "default of --kind rnn";
    }
  };
  all.emplace_back("generate", "text").option("temperature", &f.rate, "of the draws");
  return all;
}

std::string parse(Fields& f, std::vector<const char*> words) {
  std::vector<Command> all = commands(f);
  words.insert(words.begin(), "glim");
  try {
    Command* c = parse_command_line({"glim", "1", "Glim"}, all, static_cast<int>(words.size()),
                                    words.data());
    return c ? c->name : "nothing to run";
  } catch (const UsageError& e) {
    return e.what();
  } catch (const Error& e) {
    return e.one_line();
  }
}

std::string parse(const std::vector<const char*>& words) {
  Fields f;
  return parse(f, words);
}

TEST_CASE("words fill the fields of their options", "[command line]") {
  Fields f;
  CHECK(parse(f, {"train", "a", "--layers", "5", "--rate=1e-3", "--bias", "b", "--names", "x,y",
                  "z", "--out", "-", "--", "--c"}) == "train");
  CHECK(f.layers == 5);
  CHECK(f.rate == 1e-3);
  CHECK(f.bias);
  CHECK(f.names == std::vector<std::string>{"x", "y", "z"});
  CHECK(f.files == std::vector<std::string>{"a", "b", "--c"});
  CHECK(f.out == "-");
  f = {};
  CHECK(parse(f, {"train", "--bias=false", "--kind", "rnn"}) == "train");
  CHECK_FALSE(f.bias);
  CHECK(f.rate == 0.25);
  CHECK(parse({"train", "--out="}) == "train");
}

TEST_CASE("a wrong word is answered by what may have been meant", "[command line]") {
  CHECK(parse({"trian"}) == "there is no verb 'trian': did you mean train?");
  CHECK(parse({"fit"}) == "there is no verb 'fit': did you mean train?");
  CHECK(parse({"train", "--lr", "1"}) ==
        "there is no option --lr: did you mean --rate (learning rate)?");
  CHECK(parse({"train", "--n_embd=1"}) ==
        "there is no option --n_embd: did you mean --d-model (width)?");
  CHECK(parse({"train", "--layer", "1"}) ==
        "there is no option --layer: did you mean --layers (layers)?");
  CHECK(contains(parse({"train", "--temperature", "1"}), "it is an option of glim generate"));
  CHECK(contains(parse({"train", "--qwertyuiop"}), "glim train --help lists the options"));
  CHECK(contains(parse({"train", "-layers", "1"}), "did you mean --layers"));
  CHECK(contains(parse({"generate", "–temperature", "1"}), "did you mean --temperature"));
  CHECK(contains(parse({"generate", "temperature=1"}), "did you mean --temperature 1"));
  CHECK(contains(parse({"train", "--no-bias"}), "--bias is off unless it is given"));
  CHECK(contains(parse({"train", "--kind", "gtp"}), "did you mean gpt?"));
  CHECK(contains(parse({"train", "--layers"}), "--layers needs a value"));
  CHECK(contains(parse({"train", "--out", "--bias"}), "--out=--bias"));
  CHECK(contains(parse({"train", "--layers", "1", "--layers", "2"}), "more than once"));
  CHECK(contains(parse({"--layers", "1", "train"}), "the verb comes first"));
}

TEST_CASE("a configuration file fills what the line leaves open", "[command line]") {
  TemporaryFile file(
      "# a run\nkind = 'rnn'  # says\n[train]\nlayers = 1_0\nnames = [\n  \"a\", # one\n  "
      "'b'\n]\nbias = true\n"
      "out = \"\\u00e4\\t\\\"\"\n");
  Fields f;
  CHECK(parse(f, {"train", "--config", file.path().c_str(), "--layers", "2"}) == "train");
  CHECK(f.kind == "rnn");
  CHECK(f.layers == 2);
  CHECK(f.names == std::vector<std::string>{"a", "b"});
  CHECK(f.bias);
  CHECK(f.out == "ä\t\"");
  CHECK(f.rate == 0.25);
}

TEST_CASE("an error of a configuration names its line", "[command line]") {
  auto said = [](const std::string& text) {
    TemporaryFile file(text);
    std::string problem = parse({"train", "--config", file.path().c_str()});
    return problem.starts_with(file.path()) ? problem.substr(file.path().size()) : problem;
  };
  CHECK(said("\n\nlayerz = 1") ==
        ":3: 'layerz' is no option of glim train: did you mean layers (layers)?");
  CHECK(said("lr = 1") ==
        ":1: 'lr' is no option of glim train: did you mean rate (learning rate)?");
  CHECK(contains(said("[trian]\n"), ":1: '[trian]' is no table of glim train"));
  CHECK(contains(said("x.layers = 1\n"), ":1: '[x]' is no table of glim train"));
  CHECK(said("layers = many") == ":1: layers: 'many' is not a whole number");
  CHECK(said("layers = 1\nlayers = 2") == ":2: layers is given in line 1 already");
  CHECK(contains(said("config = 'x'"), ":1: config is for the command line"));
  for (const char* text : {"layers", "layers =", "= 3", "[train", "out = \"x", "names = ['a' 'b']",
                           "names = ['a'", "out = 'a' b", "out = \"\\q\"", "[[train]]",
                           "out = {a = 1}", "out = \"\\ud800\"", "out = \"\\u12"}) {
    INFO(text);
    CHECK(said(text).starts_with(":1: "));
  }
}

TEST_CASE("the effective configuration says where values come from, and is one", "[command line]") {
  Fields f;
  std::vector<Command> all = commands(f);
  std::vector<const char*> words = {"glim", "train", "--kind", "rnn", "--layers", "7"};
  Command* c = parse_command_line({"glim", "1", ""}, all, 6, words.data());
  REQUIRE(c);
  std::string toml = effective_config({"glim", "1", ""}, *c);
  CHECK(contains(toml, "layers = 7                               # command line\n"));
  CHECK(contains(toml, "rate = 0.25                              # default of --kind rnn\n"));
  CHECK_FALSE(contains(toml, "d-model"));  // another kind's
  TemporaryFile file(toml);
  Fields again;
  CHECK(parse(again, {"train", "--config", file.path().c_str()}) == "train");
  CHECK(again.layers == 7);
  CHECK(again.rate == 0.25);
}

TEST_CASE("an error about a value of a file names its line", "[command line]") {
  Command c("train", "");
  double rate = 0;
  Option& o = c.option("rate", &rate, "");
  c.run = [](Command&) { throw ValueError("--rate", "is wrong"); };
  auto said = [&] {
    try {
      run_command(c);
    } catch (const Error& e) {
      return e.one_line();
    }
    return std::string();
  };
  CHECK(said() == "--rate: is wrong (0 is the default)");
  o.is_set = true;
  o.origin = "command line";
  CHECK(said() == "--rate: is wrong");
  o.origin = "a.toml:3";
  CHECK(said() == "a.toml:3: rate: is wrong");
  o.is_set = false;
  o.origin = "recipe of --task copy";
  CHECK(said() == "--rate: is wrong (0 is the recipe of --task copy)");
}

TEST_CASE("what is like a name is meant by it, and nothing else", "[command line]") {
  const std::vector<std::string> known = {"batch-tokens", "rate", "layers", "d-model"};
  CHECK(meant_name("batch_token", known) == "batch-tokens");
  CHECK(meant_name("batch", known) == "batch-tokens");
  CHECK(meant_name("dmodel", known) == "d-model");
  CHECK(meant_name("raet", known) == "rate");
  CHECK(meant_name("x", known).empty());
  CHECK(meant_name("temperature", known).empty());
  CHECK(meant_name(std::string(100000, 'x'), known).empty());
}

}  // namespace test_command_line
