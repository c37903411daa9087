// The parts of a batch: together they are the batch, and an update of them is the update of the whole.
#include "tests/catch.hpp"
#include "tests/tools/kinds/smallest.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/train/trainer.hpp"

namespace test_shards {

using namespace glim;
using glim::test::message_of;
using glim::test::TemporaryFile;

namespace {

struct Texts {
  TemporaryFile text{
      "a line of text\nanother one is longer than it\nthe third\na b c d e f\nlast line\n"};
  TemporaryFile labelled{"a good day\tyes\na bad and very long one\tno\nno good\tno\n"};
};

// Sentences in batches of five.
TrainOptions small(const std::string& kind, const Texts& texts) {
  TrainOptions o = glim::test::smallest(kind, kind == "transformer" ? "copy" : "files");
  o.text = kind == "gpt" || kind == "bert" ? texts.text.path() : "";
  o.labelled = kind == "classifier" ? texts.labelled.path() : "";
  if (o.task == "copy") o.examples = 13;
  if (kind == "gpt") o.set("block", 8);
  o.set("dropout", 0);
  o.word_dropout = 0;
  o.optimizer = "sgd";
  o.schedule = "constant";
  o.rate = 0.1;
  o.batch_tokens = 0;
  o.batch_sentences = 5;
  o.precision = "float64";
  return o;
}

// The weights after some updates.
StateDict trained(TrainOptions o, Index shards, Index accumulate) {
  TemporaryFile folder;
  o.shards = shards;
  o.accumulate = accumulate;
  o.max_steps = 3;
  o.out = folder.path() + "-model";
  auto learner = make_learner(o);
  Trainer trainer(o, *learner, "");
  for (Index step = 1; step <= o.max_steps; ++step) trainer.replay(step, {});
  StateDict weights;
  for (const auto& [name, tensor] : learner->model().state_dict()) weights[name] = tensor.clone();
  return weights;
}

}  // namespace

TEST_CASE("the parts of a batch are its rows, in order", "[shards]") {
  Texts texts;
  for (const std::string kind : {"transformer", "gpt", "bert", "classifier"}) {
    INFO(kind);
    TrainOptions o = small(kind, texts);
    auto whole = make_learner(o);
    o.shards = 4;
    auto parts = make_learner(o);
    const Index batches = whole->begin(Split::Train, 1);
    REQUIRE(parts->begin(Split::Train, 1) == batches);
    CHECK(parts->begin(Split::Valid, 0) == whole->begin(Split::Valid, 0));
    for (Index b = 0; b < batches; ++b) {
      const BatchSize size = whole->size(Split::Train, b);
      Index samples = 0, targets = 0;
      for (Index part = 4 * b; part < 4 * b + 4; ++part) {
        const BatchSize some = parts->size(Split::Train, part);
        CHECK(std::abs(some.samples - size.samples / 4) <= 1);
        samples += some.samples;
        targets += some.targets;
      }
      CHECK(samples == size.samples);
      CHECK(targets == size.targets);
    }
  }
}

// bert hides other tokens in each part.
TEST_CASE("an update of parts is that of the whole batch", "[shards]") {
  Texts texts;
  for (const std::string kind : {"transformer", "gpt", "classifier"})
    for (Index accumulate : {1, 2}) {
      INFO(kind << ", accumulate " << accumulate);
      const TrainOptions o = small(kind, texts);
      const StateDict whole = trained(o, 1, accumulate);
      for (Index shards : {2, 8})  // eight parts of five rows: some are empty
        for (const auto& [name, tensor] : trained(o, shards, accumulate)) {
          INFO(name);
          const auto got = tensor.to(DType::Float64).to_vector<double>();
          const auto wanted = whole.at(name).to(DType::Float64).to_vector<double>();
          double most = 0;
          for (std::size_t i = 0; i < got.size(); ++i)
            most = std::max(most, std::abs(got[i] - wanted[i]));
          CHECK(most <= 1e-12);
        }
    }
}

TEST_CASE("shards are a power of two", "[shards]") {
  TrainOptions o;
  for (Index bad : {3, 2048}) {
    o.shards = bad;
    CHECK(message_of<ValueError>([&] { check(o); }) ==
          "--shards: must be a power of two up to 1024, not " + std::to_string(bad));
  }
  o.shards = 1024;
  CHECK_NOTHROW(check(o));
}

}  // namespace test_shards
