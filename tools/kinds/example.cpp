#include "tools/kinds/example.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "autograd/op_form.hpp"
#include "models/pipeline/described.hpp"
#include "models/tokenizers/by_vocabulary.hpp"
#include "nn/vision/batch_norm.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tensor/system/machine.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

// One example is no batch to measure.
void keep_statistics(Module& module) {
  if (dynamic_cast<BatchNorm*>(&module)) module.eval();
  for (const auto& [name, child] : module.children()) keep_statistics(*child);
}

}  // namespace

Rows ExampleOptions::rows() {
  return {
      {"model", &model, "folder of a model, or one of its files"},
      {"sentence", &source, "sentence to read (without: one of the task's)"},
      {"translation", &target, "its translation (without: the task's, or a trained model's own)"},
      {"hide", &hide,
       "tokens of the sentence that a bert has to guess, <s> being token 0: 3, or 3=cat to show "
       "cat there (without: the middle one)"},
      {"label", &label,
       "the class to look at, or of a tagger the class of each token (without: a trained model's "
       "own "
       "answer, a fresh one's 1)"},
      {"image", &image,
       "image to look at: FILE.png, or FILE:N for image N of an IDX file, from 0 on "
       "(fresh: a drawn 1)"},
      {"paint", &paint,
       "pixels of the image that are changed: ROW,COLUMN=VALUE from 0 to 1, of all channels or "
       "CHANNEL,ROW,COLUMN=VALUE; * is every row or column"}};
}

std::unique_ptr<Example> make_example(const ExampleOptions& o) {
  const Kind& kind = kind_named(o.init ? o.fresh.kind : read_model(o.model).kind);
  auto refuse = [&](const char* option, bool present) {
    if (!present || std::ranges::find(kind.example, option) != kind.example.end()) return;
    std::string takes;
    for (const std::string& t : kind.example) takes += (takes.empty() ? "--" : " and --") + t;
    throw ValueError(std::string("--") + option,
                     fmt::format("a model of kind {} takes {}", kind.name, takes));
  };
  refuse("sentence", !o.source.empty());
  refuse("translation", !o.target.empty());
  refuse("hide", !o.hide.empty());
  refuse("label", !o.label.empty());
  refuse("image", !o.image.empty());
  refuse("paint", !o.paint.empty());
  if (o.init) {
    require_memory(o.fresh, static_cast<double>(inspect_machine().memory_bytes));
    check_rows(o.fresh);
  }
  auto example = std::make_unique<Example>();
  kind.read(*example, o);
  example->kind = kind.name;
  example->takes = kind.example;
  example->title = kind.name + (o.init ? fmt::format(", fresh (seed {})", o.fresh.seed)
                                       : fmt::format(", trained ({})", o.model));
  example->label_smoothing = o.changes.label_smoothing.value_or(example->label_smoothing);
  example->change(o.changes);
  example->model().eval();
  return example;
}

std::string Example::heading() const {
  return label_smoothing > 0 ? title + fmt::format(", label smoothing ε = {}", label_smoothing)
                             : title;
}

Var Example::loss() {
  UseForm use(OpForm::Explicit);
  std::optional<Tape> tape;  // values get their names on a tape
  if (!Tape::current()) tape.emplace();
  ChangedForward changed(changes_);
  if (changes_.dropout) {
    model().train();
    keep_statistics(model());
    seed(0);
  }
  const Index targets = std::ssize(target_out_ids);
  Var total = summed_loss ? summed_loss()
                          : label_smoothing_loss(logits(), from_vector(target_out_ids, {targets}),
                                                 label_smoothing, pad)
                                .loss;
  model().eval();
  changed.require_used();
  return total / static_cast<double>(target_out.size());
}

std::vector<std::string> shown_tokens(const Tokenizer& tokenizer, const std::string& line) {
  auto ids = tokenizer.encode(line);
  std::vector<std::string> tokens;
  if (auto* words = dynamic_cast<const VocabularyTokenizer*>(&tokenizer))
    tokens = words->tokens(line);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i >= tokens.size()) tokens.push_back(tokenizer.piece(ids[i]));
    if (ids[i] == kUnk) tokens[i] += kUnknownMark;
  }
  return tokens;
}

void require_fits(const std::string& option, const std::vector<std::int64_t>& ids, Index most,
                  const Tokenizer* tokenizer) {
  if (ids.empty()) throw ValueError(option, "the sentence is empty");
  if (std::ssize(ids) > most)
    throw ValueError(option, fmt::format("the sentence has {} tokens, more than the {} that the "
                                         "model was made for (--max-length or --block when it was "
                                         "trained); give a shorter one",
                                         ids.size(), most));
  auto known = [&](std::int64_t id) {  // SentencePiece has a piece for a space, which says nothing
    return id >= kSpecialTokens && (!tokenizer || tokenizer->piece(id) != "▁");
  };
  if (!tokenizer || std::ranges::any_of(ids, known)) return;
  std::string some;
  for (std::int64_t id = kSpecialTokens; id < std::min(tokenizer->size(), kSpecialTokens + 3); ++id)
    some += (some.empty() ? "'" : ", '") + tokenizer->piece(id) + "'";
  throw ValueError(option,
                   "the model's vocabulary has no token of the sentence; write it in tokens "
                   "that the model was trained on, as " +
                       some + " are");
}

void read_sentence(Example& example, const std::string& sentence, Index most) {
  const Tokenizer& tokenizer = *example.tokenizers.source;
  example.source_text = sentence;
  auto& ids = example.source_ids = tokenizer.encode(sentence);
  require_fits("--sentence", ids, most, &tokenizer);
  ids.insert(ids.begin(), kBos);
  ids.push_back(kEos);
  auto& tokens = example.source = shown_tokens(tokenizer, sentence);
  tokens.insert(tokens.begin(), tokenizer.piece(kBos));
  tokens.push_back(tokenizer.piece(kEos));
}

std::string text_or_phrase(const std::string& text, const TrainOptions& trained) {
  if (!text.empty()) return text;
  if (trained.task == "files")
    throw ValueError("--sentence", "a model trained on files needs a text to look at");
  return phrasebook_pairs(Part::Valid).at(0).source;
}

void ask_label(Example& example, const ExampleOptions& options, const Labels& labels) {
  const std::string label = options.label.empty() && options.init ? "1" : options.label;
  Index number = labels.find(label);
  example.own_target = label.empty();
  NoGrad no_tape;
  if (example.own_target)
    number = argmax(example.logits().value(), -1).to_vector<Index>().at(0);
  else if (number < 0)
    throw ValueError("--label", fmt::format("'{}' is not one of {}", label, labels.list()));
  example.target_text = labels.name(number);
  example.target_out = {example.target_text};
  example.target_out_ids = {number};
}

}  // namespace glim
