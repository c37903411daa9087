// Learning to classify sentences: the kind `classifier` (models/bert/bert.hpp), from scratch or from a
// pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the sentences, q the label, smoothed
#include "tools/data/corpus/split.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/learners/labelled.hpp"
#include "tools/train/learners/labels.hpp"

namespace glim {
namespace {

class ClassificationLearner final : public LabelLearner<SequenceClassifier> {
 public:
  ClassificationLearner(const TrainOptions& o, const Checkpoint* from)
      : LabelLearner(o, "sentence<TAB>label") {
    ParallelCorpus train = read_labelled(o.labelled, o.columns), valid;
    const std::vector<std::string> names = train.target_sentences();  // of all that are given
    if (!o.valid_labelled.empty()) {
      valid = read_labelled(o.valid_labelled, o.columns);
    } else if (o.valid_share != 0) {
      valid = split_off(train, o.valid_share, o.seed);
      held_out_ = describe_held_out(valid.line, names.size(), o.valid_share, "sentence");
    }
    const Index longest = begin_model(from, names, train.source_name, train.source_sentences(),
                                      parse_choice<Pooling>("pooling", o.pooling));
    auto take = [&](const ParallelCorpus& from_file, SentenceSet& to) {
      const std::vector<Index> numbers = label_numbers(from_file, labels_);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        to.add(*tokenizer_, from_file.pairs[i].source, numbers[i], longest);
    };
    take(train, train_);
    take(valid, valid_);
    choose_by_amount(std::ssize(train_.pairs));
  }
};

}  // namespace

std::unique_ptr<Learner> make_classification_learner(const TrainOptions& options,
                                                     const Checkpoint* from) {
  return std::make_unique<ClassificationLearner>(options, from);
}

}  // namespace glim
