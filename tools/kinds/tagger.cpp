// The kind `tagger`: a label for each token (models/bert/bert.hpp), from scratch or from a pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the tokens, q the label, smoothed
#include "models/pipeline/tagger.hpp"

#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/kinds/labelled.hpp"
#include "tools/kinds/labelled_example.hpp"
#include "tools/kinds/tagged_data.hpp"

namespace glim {
namespace {

std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

class TaggingLearner final : public LabelLearner<TokenClassifier> {
 public:
  TaggingLearner(const TrainOptions& o, const ModelFile* init)
      : LabelLearner(o, "TOKEN<TAB>LABEL") {
    one_of("tokenizer", o.tokenizer, {"word"});
    TaggedData train = read_tagged(o.labelled), valid;
    note_empty(train);
    std::vector<std::string> names, sentences;
    for (const TaggedSentence& s : train.sentences) {
      names.insert(names.end(), s.labels.begin(), s.labels.end());
      sentences.push_back(spaced(s.tokens));
    }
    if (!o.valid_labelled.empty()) {
      valid = read_tagged(o.valid_labelled);
      note_empty(valid);
    } else if (o.valid_share != 0) {
      valid.name = train.name;
      const auto kept = validation_rows(sentences, o.valid_share, o.seed);
      valid.sentences = take_rows(train.sentences, kept);
      take_rows(sentences, kept);
      std::vector<std::int64_t> lines;
      for (const TaggedSentence& s : valid.sentences) lines.push_back(s.line);
      held_out_ = describe_held_out(lines, kept.size(), o.valid_share, "sentence");
    }
    const Index longest = begin_model(o.config<BertConfig>(), init, names, train.name, sentences);
    fill(train, train_, longest);
    fill(valid, valid_, longest);
    choose_by_amount(std::ssize(train_.pairs));
  }

  std::string demonstrate(const std::string& folder) override {
    if (valid_.pairs.empty() || labels_.find("O") < 0) return "";
    const Tagger best(folder);
    SpanCounts counts;
    for (std::size_t i = 0; i < valid_.pairs.size(); ++i) {
      std::vector<std::string> predictions, truth;
      for (const Classified& c : best.tag(words(valid_.text[i])))
        predictions.push_back(labels_.name(c.label));
      for (Index label : valid_.pairs[i].target) truth.push_back(labels_.name(label));
      counts.add(predictions, truth);
    }
    return fmt::format("\nvalidation sentences, never trained on: {}\n\n", counts.describe());
  }

 private:
  static std::vector<std::string> words(const std::string& sentence) {
    const auto parts = split_spaces(sentence);
    return {parts.begin(), parts.end()};
  }
  void note_empty(const TaggedData& data) {
    if (data.empty > 0)
      add_note(fmt::format("  left out of {}: {}, the first in line {}", data.name,
                           counted(data.empty, "empty sentence"), data.first_empty));
  }
  void fill(const TaggedData& data, SentenceSet& set, Index longest) {
    const auto numbers = label_numbers(data, labels_);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const TaggedSentence& s = data.sentences[i];
      TokenPair pair{token_numbers(*tokenizer_, s.tokens, fmt::format("{}:{}", data.name, s.line)),
                     numbers[i]};
      const auto room = static_cast<std::size_t>(longest - 2);
      const bool cut = pair.target.size() > room;
      if (cut) pair.target.resize(room), pair.source.resize(room + 1);
      set.cut += cut;
      set.unknown += std::ranges::count(pair.source, kUnk);
      set.text.push_back(spaced({s.tokens.begin(), s.tokens.begin() + std::ssize(pair.target)}));
      set.pairs.push_back(std::move(pair));
    }
  }
};

// An example: a sentence and the class of each token.
void read_tagged_sentence(Example& e, const ExampleOptions& options) {
  const auto loaded = read_with_labels<Tagger>(e, options, [&] {
    return fresh<Tagger, TokenClassifier>(options.fresh.config<BertConfig>(), options.fresh);
  });
  const Index count = std::ssize(e.source_ids) - 2;
  e.logits = [model = loaded.model(), count, ids = e.source_ids] {
    Var all = (*model)(from_vector(ids, {1, count + 2}));  // (1, S, C) -> (S - 2, C)
    return narrow(select(all, 0, 0), 0, 1, count);
  };
  e.own_target = options.label.empty() && !options.init;
  if (e.own_target) {
    NoGrad no_tape;
    e.target_out_ids = argmax(e.logits().value(), -1).to_vector<Index>();
  } else if (options.label.empty()) {
    e.target_out_ids.assign(static_cast<std::size_t>(count), 1);
  } else {
    for (std::string_view label : split_spaces(options.label)) {
      e.target_out_ids.push_back(loaded.labels().find(std::string(label)));
      if (e.target_out_ids.back() < 0)
        throw ValueError("--label",
                         fmt::format("'{}' is not one of {}", label, loaded.labels().list()));
    }
    if (std::ssize(e.target_out_ids) != count)
      throw ValueError("--label", fmt::format("needs a label for each of the {} tokens, not {}",
                                              count, e.target_out_ids.size()));
  }
  for (Index label : e.target_out_ids) e.target_out.push_back(loaded.labels().name(label));
  e.target_text = fmt::format("{}", fmt::join(e.target_out, " "));
}

}  // namespace

const Kind& tagger_kind() {
  static const Kind kind = [] {
    Kind k = label_kind<TaggingLearner>(
        "tagger", BertConfig{.d_ff = 256, .norm = NormPlacement::Pre},
        "layers = 2\nword-dropout = 0.1\nlabel-smoothing = 0\nweight-decay = 0.01\n");
    k.read = read_tagged_sentence;
    return k;
  }();
  return kind;
}

}  // namespace glim
