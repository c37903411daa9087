// The example under the microscope: fresh models, unknown words, sentences that do not fit.
#include "tools/kinds/example.hpp"

#include <cmath>

#include "tensor/error.hpp"
#include "tests/tools/inspect/common.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/presets.hpp"

namespace test_example {

using namespace glim;

TEST_CASE("a fresh model reads a pair of its task, with its own loss recorded explicitly") {
  const auto made = make_example(small_options());
  Example& example = *made;
  CHECK(example.title == "transformer, fresh (seed 1)");
  CHECK(example.source.size() >= 3);
  CHECK(example.target_in.size() == example.target_out.size());
  CHECK(example.target_in.front() == "<s>");
  CHECK(example.target_out.back() == "</s>");
  CHECK_FALSE(example.own_target);
  Tape tape;
  Var loss = example.loss();
  // An untrained model is about as good as guessing among V tokens.
  CHECK(loss.item() > 2);
  CHECK(loss.item() < 12);
  int probs = 0;
  for (std::size_t i = 0; i < tape.nodes().size(); ++i)
    probs += tape.path(static_cast<int>(i)).ends_with(".probs");
  CHECK(probs == 3);  // encoder self, decoder self, to the memory: one layer each
}

TEST_CASE("a fresh model of each kind reads an example of its task, never its own answer") {
  for (const Kind* kind : kinds()) {
    INFO(kind->name);
    ExampleOptions o;
    o.init = true;
    o.fresh.kind = kind->name;
    const bool labels = kind->tasks == std::vector<std::string>{"files"};
    if (labels) o.fresh.task = "files";
    apply_preset(o.fresh, [](const std::string& name) { return name == "task"; });
    const auto made = make_example(o);
    Example& example = *made;
    CHECK_FALSE(example.own_target);
    CHECK(std::isfinite(example.loss().item()));
    const std::size_t answers = kind->name == "tagger" ? example.source.size() - 2 : 1;
    if (labels) CHECK(example.target_out == std::vector<std::string>(answers, "1"));
  }
  ExampleOptions o;
  o.init = true;
  o.fresh.kind = "vit";
  o.fresh.set("patch", 4);
  o.size = {3, 8, 12};  // as a page has an image
  o.pixels.resize(3 * 8 * 12, 7);
  CHECK(std::ssize(make_example(o)->source) == 2 * 3);
  o.size = {3, 8, 8};
  CHECK_THROWS_AS(make_example(o), ValueError);
}

TEST_CASE("the translation that a fresh model is asked for is its task's") {
  auto target = [](const std::string& task, const std::string& sentence) {
    ExampleOptions o = small_options();
    o.fresh.task = task;
    if (task != "phrasebook") o.fresh.target_tokenizer = "word";
    o.source = sentence;
    const auto made = make_example(o);
    Example& example = *made;
    CHECK_FALSE(example.own_target);
    return example.target_text;
  };
  CHECK(target("copy", "3 1 2") == "3 1 2");
  CHECK(target("reverse", "3 1 2") == "2 1 3");
  const SentencePair known = phrasebook_pairs(Part::Train).at(7);
  CHECK(target("phrasebook", known.source) == known.target);
  try {
    target("phrasebook", "I have a quokka");
    FAIL("a fresh model translates");
  } catch (const ValueError& e) {
    CHECK(e.one_line().find("--translation: a fresh model cannot translate") != std::string::npos);
  }
}

TEST_CASE("two looks see the same bits") {
  const auto a = make_example(small_options()), b = make_example(small_options());
  CHECK(a->loss().item() == b->loss().item());
  CHECK(a->loss().item() == a->loss().item());
}

TEST_CASE("words that the vocabulary lacks are shown as such") {
  ExampleOptions o = small_options();
  o.source = "I have a quokka";
  o.target = "我有";
  const auto made = make_example(o);
  Example& example = *made;
  CHECK(example.source == std::vector<std::string>{"I", "have", "a", "quokka (unknown)", "</s>"});
}

TEST_CASE("what cannot be looked at is refused, naming the option") {
  auto message = [](ExampleOptions o) {
    try {
      make_example(o);
    } catch (const Error& e) {
      return e.one_line();
    }
    return std::string();
  };
  ExampleOptions o = small_options();
  o.source = "  ";
  CHECK(message(o).find("--sentence: the sentence is empty") != std::string::npos);
  o.source = "I";
  for (int i = 0; i < 300; ++i) o.source += " have";
  CHECK(message(o).find("more than the 256") != std::string::npos);
  o = small_options();
  o.target = "我";
  CHECK(message(o).find("--translation") != std::string::npos);
  o = small_options();
  o.fresh.kind = "quokka";
  CHECK(message(o).find("'quokka' is not one of transformer") != std::string::npos);
  o = small_options();
  o.label = "yes";
  CHECK(
      message(o).find("--label: a model of kind transformer takes --sentence and --translation") !=
      std::string::npos);
}

}  // namespace test_example
