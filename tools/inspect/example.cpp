#include "tools/inspect/example.hpp"

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
#include "tools/common/machine.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/estimate.hpp"
#include "tools/train/learners/labels.hpp"
#include "tools/train/learners/translation.hpp"

namespace glim {
namespace {

struct ExampleKind {
  std::string_view kind;
  void (*read)(Example&, const ExampleOptions&);
  std::vector<std::string> takes;
};

const ExampleKind kOfPairs{"", read_pair, {"sentence", "translation"}};
const ExampleKind kOthers[] = {
    {"gpt", read_text, {"sentence"}},
    {"bert", read_masked, {"sentence", "hide"}},
    {"classifier", read_labelled_sentence, {"sentence", "label"}},
    {"tagger", read_tagged_sentence, {"sentence", "label"}},
    {"vit", read_image, {"image", "label", "paint"}},
    {"cnn", read_image, {"image", "label", "paint"}},
};

const ExampleKind& kind_of_example(const std::string& kind) {
  if (sequence_kind(kind)) return kOfPairs;
  for (const ExampleKind& k : kOthers)
    if (k.kind == kind) return k;
  throw ValueError("--kind", "'" + kind + "' is not one of " + inspected_kinds());
}

// One example is no batch to measure.
void keep_statistics(Module& module) {
  if (dynamic_cast<BatchNorm*>(&module)) module.eval();
  for (const auto& [name, child] : module.children()) keep_statistics(*child);
}

}  // namespace

std::string inspected_kinds() {
  std::string names = sequence_kind_names();
  for (const ExampleKind& k : kOthers) names.append(", ").append(k.kind);
  return names;
}

std::unique_ptr<Example> make_example(const ExampleOptions& o) {
  const std::string kind = o.init ? o.fresh.kind : read_model(o.model).kind;
  const ExampleKind& of_kind = kind_of_example(kind);
  auto refuse = [&](const char* option, bool given) {
    if (!given || std::ranges::find(of_kind.takes, option) != of_kind.takes.end()) return;
    std::string takes;
    for (const std::string& t : of_kind.takes) takes += (takes.empty() ? "--" : " and --") + t;
    throw ValueError(std::string("--") + option,
                     fmt::format("a model of kind {} takes {}", kind, takes));
  };
  refuse("sentence", !o.source.empty());
  refuse("translation", !o.target.empty());
  refuse("hide", !o.hide.empty());
  refuse("label", !o.label.empty());
  refuse("image", !o.image.empty());
  refuse("paint", !o.paint.empty());
  if (o.init) require_memory(o.fresh, static_cast<double>(inspect_machine().memory_bytes));
  auto example = std::make_unique<Example>();
  of_kind.read(*example, o);
  example->kind = kind;
  example->title = kind + (o.init ? fmt::format(", fresh (seed {})", o.fresh.seed)
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
  std::optional<Tape> own;  // values get their names on a tape
  if (!Tape::current()) own.emplace();
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
                                         "model was made for (--max-length when it was trained); "
                                         "give a shorter one",
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
