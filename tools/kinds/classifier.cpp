// The kind `classifier`: the class of a sentence (models/bert/bert.hpp), from scratch or from a pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the sentences, q the label, smoothed
#include "models/pipeline/classifier.hpp"

#include "models/size_rows.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/labelled.hpp"
#include "tools/kinds/labelled_example.hpp"
#include "tools/kinds/labels.hpp"

namespace glim {
namespace {

struct ClassifierSizes : BertConfig {
  Pooling pooling = Pooling::Mean;

  Rows rows() { return concatenated(BertConfig::rows(), {size_rows::pooling(pooling)}); }
};

class ClassificationLearner final : public LabelLearner<SequenceClassifier> {
 public:
  ClassificationLearner(const TrainOptions& o, const ModelFile* init)
      : LabelLearner(o, "sentence<TAB>label") {
    ParallelCorpus train = read_labelled(o.labelled, o.columns), valid;
    const std::vector<std::string> names = train.target_sentences();  // of all that are given
    if (!o.valid_labelled.empty()) {
      valid = read_labelled(o.valid_labelled, o.columns);
    } else if (o.valid_share != 0) {
      valid = split_off(train, o.valid_share, o.seed);
      held_out_ = describe_held_out(valid.line, names.size(), o.valid_share, "sentence");
    }
    const auto& sizes = o.config<ClassifierSizes>();
    const Index longest =
        begin_model(sizes, init, names, train.source_name, train.source_sentences(), sizes.pooling);
    auto take = [&](const ParallelCorpus& from_file, SentenceSet& set) {
      const std::vector<Index> numbers = label_numbers(from_file, labels_);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        set.add(*tokenizer_, from_file.pairs[i].source, numbers[i], longest);
    };
    take(train, train_);
    take(valid, valid_);
    choose_by_amount(std::ssize(train_.pairs));
  }
};

// An example: a sentence and its class.
void read_labelled_sentence(Example& e, const ExampleOptions& options) {
  const auto loaded = read_with_labels<Classifier>(e, options, [&] {
    const auto& sizes = options.fresh.config<ClassifierSizes>();
    return fresh<Classifier, SequenceClassifier>(sizes, options.fresh, sizes.pooling);
  });
  const auto& model = loaded.model();
  e.logits = [model, ids = e.source_ids] {
    return (*model)(from_vector(ids, {1, std::ssize(ids)}));
  };
  ask_label(e, options, loaded.labels());
}

}  // namespace

const Kind& classifier_kind() {
  static const Kind kind{
      .name = "classifier",
      .sizes =
          ClassifierSizes{{.layers = 1, .d_ff = 256, .dropout = 0.5, .norm = NormPlacement::Pre}},
      .options = words("columns labelled valid_labelled tokenizer vocabulary vocabulary_file "
                       "min_frequency max_length word_dropout embeddings freeze_embeddings"),
      .usual = words(
          "kind labelled valid_labelled init_from layers d_model epochs batch_tokens rate out"),
      .tasks = words("files"),
      .settings = R"(
layers = 1
d-model = 128
heads = 4
d-ff = "2D"
dropout = 0.5
word-dropout = 0.5
norm = "pre"
activation = "gelu"
positions = "learned"
epochs = 0
batch-tokens = 0
optimizer = "adamw"
weight-decay = 1
schedule = "cosine"
rate = 1e-3
warmup = 100
)",
      .example = words("sentence label"),
      .starts_of = {"bert"},
      .learner = [](const TrainOptions& o, const ModelFile* init) -> std::unique_ptr<Learner> {
        return std::make_unique<ClassificationLearner>(o, init);
      },
      .read = read_labelled_sentence,
      .least =
          [](const TrainOptions& o) {
            return least_of_layers(o, 0, static_cast<double>(o.max_length));
          }};
  return kind;
}

}  // namespace glim
