// The kind `classifier`: the class of a sentence (models/bert/bert.hpp), from scratch or from a pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the sentences, q the label, smoothed
#include "models/pipeline/classifier.hpp"

#include "models/size_rows.hpp"
#include "tools/data/corpus/split.hpp"
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
  static const Kind kind = [] {
    Kind k = label_kind<ClassificationLearner>(
        "classifier",
        ClassifierSizes{{.layers = 1, .d_ff = 256, .dropout = 0.5, .norm = NormPlacement::Pre}},
        "layers = 1\ndropout = 0.5\nword-dropout = 0.5\nweight-decay = 1\n");
    k.options.push_back("columns");
    k.read = read_labelled_sentence;
    return k;
  }();
  return kind;
}

}  // namespace glim
