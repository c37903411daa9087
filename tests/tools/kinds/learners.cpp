// The data that language models learn from: parts of a text, crops, blocks, masks, labels.
#include <cmath>
#include <limits>
#include <set>

#include "models/pipeline/tagger.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/tools/kinds/smallest.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/labels.hpp"
#include "tools/kinds/presets.hpp"

namespace test_learners {

using namespace glim;
using glim::test::message_of;
using glim::test::smallest;
using glim::test::TemporaryFile;

namespace {

struct Seen {
  Index targets = 0, batches = 0;
  double nll = 0;
};
Seen read_all(Learner& learner, Split split, Index epoch) {
  Seen seen;
  learner.model().train(split == Split::Train);
  seen.batches = learner.begin(split, epoch);
  for (Index b = 0; b < seen.batches; ++b) {
    const Measures sums = learner.loss(split, b, 0).sums;
    CHECK(sums.tokens == learner.size(split, b).targets);
    seen.targets += sums.tokens;
    seen.nll += sums.nll;
  }
  return seen;
}

// Characters that say where they are: no two neighbours occur twice.
std::string unique_pairs(std::size_t length) {
  std::string text;
  for (std::size_t i = 0; text.size() < length; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

}  // namespace

TEST_CASE("gpt: nine tenths train, the rest validates in whole", "[learners][gpt]") {
  TemporaryFile text(unique_pairs(999));  // and the last line's end
  TrainOptions o = smallest("gpt");
  o.text = text.path();
  o.set("block", 16);
  o.set("init", 0.02);
  auto learner = make_learner(o);
  // 100 characters to validate: each but the first is predicted once, in blocks of 16 and a rest.
  Seen valid = read_all(*learner, Split::Valid, 0);
  CHECK(valid.targets == 99);
  CHECK(valid.batches == 2);
  CHECK(valid.nll / 99 == Approx(std::log(30)).margin(0.1));  // 26 letters, 4 special tokens
  // 900 to train: (900 - 1)/16 = 56 crops an epoch, or one fewer where the first begins late.
  std::set<Index> counts;
  for (Index epoch = 0; epoch < 40; ++epoch)
    counts.insert(read_all(*learner, Split::Train, epoch).targets);
  CHECK(counts == std::set<Index>{55 * 16, 56 * 16});
  CHECK(read_all(*learner, Split::Train, 0).batches == 5);  // of 12 crops
  // Another file to validate leaves all of the text for training.
  TemporaryFile other(unique_pairs(49));
  o.valid_text = other.path();
  auto two = make_learner(o);
  CHECK(read_all(*two, Split::Valid, 0).targets == 49);
  CHECK(read_all(*two, Split::Train, 0).targets >= 61 * 16);
  CHECK(two->fingerprint() != learner->fingerprint());
}

TEST_CASE("epochs and batches follow the amount of data where they are 0", "[learners]") {
  auto chosen = [](Index n) {
    TrainOptions o;
    o.epochs = o.batch_tokens = 0;
    CHECK_FALSE(choose_by_amount(o, n).empty());
    return std::pair{o.epochs, o.batch_sentences};
  };
  CHECK(chosen(1) == std::pair<Index, Index>{100, 16});
  CHECK(chosen(180) == std::pair<Index, Index>{75, 16});
  CHECK(chosen(2700) == std::pair<Index, Index>{19, 32});
  CHECK(chosen(28000) == std::pair<Index, Index>{6, 64});
  CHECK(chosen(199000) == std::pair<Index, Index>{5, 128});
  TrainOptions given;
  CHECK(choose_by_amount(given, 2700).empty());
  CHECK(given.epochs == 10);
  CHECK(given.batch_sentences == 0);  // --batch-tokens is its limit
}

TEST_CASE("gpt: crops are a function of seed and epoch", "[learners][gpt]") {
  TemporaryFile text(unique_pairs(999));
  TrainOptions o = smallest("gpt");
  o.text = text.path();
  o.set("block", 8);
  o.set("dropout", 0);
  auto losses = [&](Index seed, Index epoch) {
    o.seed = seed;
    auto learner = kind_named("gpt").learner(o, nullptr);
    for (auto& [name, p] : learner->model().named_parameters())  // the same model for every seed
      p.value().copy_(normal(p.shape(), 0, 0.5, {3, static_cast<std::uint64_t>(name.size())}));
    return read_all(*learner, Split::Train, epoch).nll;
  };
  CHECK(losses(1, 0) == losses(1, 0));
  CHECK(losses(1, 0) != losses(1, 1));
  CHECK(losses(1, 0) != losses(2, 0));
}

TEST_CASE("bert: as many targets as were announced, other ones each time", "[learners][bert]") {
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += "the small cat number " + std::to_string(i % 7) + " sat on";
    for (int k = 0; k < i % 9; ++k) lines += " the mat";
    lines += "\n";
  }
  TemporaryFile text(lines);
  TrainOptions o = smallest("bert");
  o.text = text.path();
  o.set("dropout", 0);
  auto learner = make_learner(o);
  Seen first = read_all(*learner, Split::Train, 0), second = read_all(*learner, Split::Train, 0);
  CHECK(first.targets == second.targets);
  CHECK(first.nll != second.nll);  // masked anew
  Seen a = read_all(*learner, Split::Valid, 0), b = read_all(*learner, Split::Valid, 3);
  CHECK(a.targets == b.targets);
  CHECK(a.nll == b.nll);  // the same masks at each validation
  generator().set_state(1, 50);
  double once = read_all(*learner, Split::Train, 0).nll;
  generator().set_state(1, 50);
  CHECK(read_all(*learner, Split::Train, 0).nll == once);
}

TEST_CASE("labels are ordered, found and kept", "[learners][labels]") {
  std::vector<std::string> numbers{"10", "9", "10", "0"}, words{"good", "bad", "2"};
  CHECK(Labels::of(numbers, "here").list() == "0, 9, 10");
  CHECK(Labels::of(words, "here").list() == "2, bad, good");
  Labels l = Labels::from_json(Labels::of(numbers, "here").to_json(), "here");
  CHECK(l.size() == 3);
  CHECK(l.find("9") == 1);
  CHECK(l.find("7") == -1);
  CHECK(message_of<FileError>([] {
          Labels::of(std::vector<std::string>{"1", "1"}, "here");
        }) == "here: needs at least two different labels, not only '1': add examples of another");
  CHECK_THROWS_AS(Labels::from_json("{", "here"), FileError);
  CHECK_THROWS_AS(Labels::from_json("[\"a\"]", "here"), FileError);
}

TEST_CASE("labelled lines", "[learners][labels]") {
  TemporaryFile good("a b\t1\r\n fine film \t 0 \n");
  ParallelCorpus data = read_labelled(good.path());
  CHECK(data.source_sentences() == std::vector<std::string>{"a b", " fine film "});
  CHECK(data.target_sentences() == std::vector<std::string>{"1", "0"});
  const Labels labels = Labels::of(data.target_sentences(), "here");
  CHECK(label_numbers(data, labels) == std::vector<Index>{1, 0});
  ParallelCorpus other = data;
  other.pairs[1].target = "2";
  CHECK(message_of<FileError>([&] { label_numbers(other, labels); }) ==
        good.path() + ":2: the label '2' is not one of 0, 1");
  TemporaryFile no_tab("a\t1\nb 0\n");
  CHECK(message_of<FileError>([&] { read_labelled(no_tab.path()); }) ==
        no_tab.path() + ":2: no tab: the line must be sentence<TAB>label");
}

TEST_CASE("classifier: counts what is right, hides words in training only", "[learners]") {
  std::string lines;
  for (int i = 0; i < 30; ++i)
    lines += "word" + std::to_string(i) + " and more words here\t" + (i % 3 ? "no" : "yes") + "\n";
  TemporaryFile file(lines);
  TrainOptions o = smallest("classifier");
  o.labelled = o.valid_labelled = file.path();
  o.set("dropout", 0);
  o.word_dropout = 0.5;
  auto learner = make_learner(o);
  Seen train = read_all(*learner, Split::Train, 0), again = read_all(*learner, Split::Train, 0);
  CHECK(train.targets == 30);
  CHECK(train.nll != again.nll);
  Seen valid = read_all(*learner, Split::Valid, 0);
  CHECK(valid.nll == read_all(*learner, Split::Valid, 0).nll);
  Measures m = measure_validation(*learner);
  CHECK(m.tokens == 30);
  CHECK((m.correct == 10 || m.correct == 20));  // one label for all before it has learned
  // Fewer errors first, then the NLL: of the same errors a lower one is better, and no NLL outweighs an error.
  auto of = [&](Index correct, double nll) {
    Measures some = m;
    some.correct = correct;
    some.nll = nll;
    return learner->criterion(some);
  };
  CHECK(of(20, 0.5) < of(20, 0.6));
  CHECK(of(20, 1e-9) < of(20, 2e-9));
  CHECK(of(21, 1e9) < of(20, 0));
  CHECK(of(21, std::numeric_limits<double>::infinity()) <= of(20, 0));
}

TEST_CASE("a batch's loss is the sum of its samples' losses", "[learners]") {
  const TemporaryFile text(
      "a line of text\nanother one is longer than it\nthe third\na b c d e f\n");
  const TemporaryFile labelled("a good day\tyes\na bad and very long one\tno\nno good\tno\n");
  for (const std::string kind : {"transformer", "gpt", "bert", "classifier"}) {
    INFO(kind);
    TrainOptions o = smallest(kind);
    o.text = kind == "gpt" || kind == "bert" ? text.path() : "";
    o.labelled = kind == "classifier" ? labelled.path() : "";
    if (kind == "transformer") o.task = "copy";
    if (kind == "transformer") o.examples = 12;
    if (kind == "gpt") o.set("block", 8);
    o.set("dropout", 0);
    o.batch_tokens = 0;
    o.batch_sentences = 3;
    o.precision = "float64";
    auto learner = make_learner(o);
    learner->model().eval();
    const Index batches = learner->begin(Split::Train, 0);
    for (Index b = 0; b < batches; ++b) {
      const double whole = learner->loss(Split::Train, b, 0).item();
      const auto samples = learner->samples(b);
      REQUIRE(std::ssize(samples) == learner->size(Split::Train, b).samples);
      double parts = 0;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        parts += learner->sample_loss(b, i).item();
        CHECK(!samples[i].sentence.empty());
        CHECK(samples[i].hide.empty() == (kind != "bert"));
        CHECK(samples[i].label.empty() == (kind != "classifier"));
      }
      CHECK(parts == Approx(whole).epsilon(1e-10));
    }
  }
}

TEST_CASE("spans of labels, and how many are right", "[learners][tagger]") {
  using Spans = std::vector<Span>;
  CHECK(spans_of({"O", "B-PER", "I-PER", "O"}) == Spans{{1, 3, "PER"}});
  CHECK(spans_of({"B-PER", "B-PER", "I-LOC", "I-LOC"}) ==
        Spans{{0, 1, "PER"}, {1, 2, "PER"}, {2, 4, "LOC"}});
  CHECK(spans_of({"I-PER", "O", "I-PER"}) == Spans{{0, 1, "PER"}, {2, 3, "PER"}});
  CHECK(spans_of({"NN", "NN", "VB", "O", "VB"}) == Spans{{0, 2, "NN"}, {2, 3, "VB"}, {4, 5, "VB"}});
  CHECK(spans_of({"O", "O"}).empty());
  SpanCounts counts;
  counts.add({"B-X", "I-X", "O", "B-Y", "O"}, {"B-X", "I-X", "O", "B-X", "B-Y"});
  counts.add({"B-X", "O"}, {"B-X", "I-X"});  // another end
  CHECK(counts.right == 1);
  CHECK(counts.found == 3);
  CHECK(counts.expected == 4);
  CHECK(counts.describe() == "F1 of spans 0.2857 (precision 0.3333, recall 0.2500; 1 of 4)");
  CHECK(SpanCounts{}.f1() == 0);
}

TEST_CASE("tagger: a target for each token, of a sentence that is cut for each that is left",
          "[learners][tagger]") {
  const TemporaryFile labelled("a\tX\nb\tO\nc\tX\nd\tO\n\ne\tO\nf\tX\n");
  TrainOptions o = smallest("tagger");
  o.labelled = labelled.path();
  o.valid_share = 0;
  auto targets = [&](Index max_length) {
    o.max_length = max_length;
    return read_all(*make_learner(o), Split::Train, 0).targets;
  };
  CHECK(targets(100) == 6);
  CHECK(targets(6) == 6);  // with <s> and </s>
  CHECK(targets(5) == 5);
  CHECK(targets(3) == 2);
}

TEST_CASE("positions and shared projections reach the model of every kind", "[learners]") {
  const TemporaryFile text("a line of text\nanother line of text\nof a line\ntext of a line\n"),
      labelled("a line of text\tyes\nanother line\tno\nof text\tno\n"),
      tagged("a\tX\nline\tO\nof\tX\n\ntext\tO\nof\tX\n"),
      images(std::string(
          "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02\x10\x20\x70\x40\x60\x50\x30\x90", 24)),
      labels(std::string("\0\0\x08\x01\0\0\0\x02\0\x01", 10));
  for (const std::string kind : {"transformer", "non-autoregressive", "conv", "gpt", "bert",
                                 "classifier", "tagger", "vit"}) {
    INFO(kind);
    const bool pairs = kind == "transformer" || kind == "non-autoregressive" || kind == "conv";
    TrainOptions o = smallest(kind, pairs ? "copy" : "files");
    if (pairs) o.examples = 12;
    if (kind == "gpt" || kind == "bert") o.text = text.path();
    if (kind == "gpt") o.set("block", 4);
    if (kind == "classifier") o.labelled = labelled.path();
    if (kind == "tagger") o.labelled = tagged.path();
    if (kind == "vit") {
      o.images = images.path();
      o.labels = labels.path();
      o.set("patch", 1);
    }
    o.set("dropout", 0);
    o.valid_share = 0;
    o.precision = "float64";
    struct Made {
      double loss;
      Index parameters;
    };
    auto made = [&](const char* positions, double base, bool share) {
      o.set("positions", positions).set("position_base", base);
      if (kind != "conv") o.set("share_qk", share);
      seed(4);
      auto learner = make_learner(o);
      for (auto& [name, p] : learner->model().named_parameters())
        p.value().copy_(normal(p.shape(), 0, 0.5, {3, static_cast<std::uint64_t>(name.size())})
                            .to(DType::Float64));
      learner->model().eval();
      generator().set_state(1, 50);
      learner->begin(Split::Train, 0);
      return Made{learner->loss(Split::Train, 0, 0).sums.nll, learner->model().parameter_count()};
    };
    const Made usual = made("sinusoidal", 10000, false), other = made("sinusoidal", 50, false),
               none = made("none", 10000, false);
    CHECK(std::abs(usual.loss - other.loss) > 1e-6);
    CHECK(std::abs(usual.loss - none.loss) > 1e-6);
    CHECK(none.parameters == usual.parameters);
    CHECK(made("learned", 10000, false).parameters > none.parameters);
    if (kind == "conv") continue;
    const Index attentions = pairs ? 3 : 1, each = 8 * 8 + (kind == "gpt" ? 0 : 8);
    CHECK(usual.parameters - made("sinusoidal", 10000, true).parameters == attentions * each);
  }
}

TEST_CASE("options of another kind are refused", "[learners]") {
  TemporaryFile text(unique_pairs(999));
  TrainOptions o = smallest("gpt");
  o.text = text.path();
  o.labelled = text.path();
  CHECK(message_of<ValueError>([&] { make_learner(o); }) ==
        "--labelled: is no option of --kind gpt; it belongs to --kind classifier, tagger");
  CHECK_THROWS_AS(o.set("pooling", "first"), std::logic_error);
  o = smallest("bert");
  o.text = text.path();
  o.set("positions", "rotary");
  CHECK_THROWS_AS(make_learner(o), ValueError);
  o = smallest("classifier");
  CHECK(message_of<ValueError>([&] { make_learner(o); }) ==
        "--labelled: --kind classifier needs --labelled FILE, of sentence<TAB>label lines");
}

}  // namespace test_learners
