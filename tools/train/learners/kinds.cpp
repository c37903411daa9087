#include "tools/train/learners/kinds.hpp"

#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/common/machine.hpp"
#include "tools/train/estimate.hpp"
#include "tools/train/learners/bert.hpp"
#include "tools/train/learners/embeddings.hpp"
#include "tools/train/learners/images.hpp"
#include "tools/train/learners/tagging.hpp"
#include "tools/train/learners/translation.hpp"

namespace glim {

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"transformer", make_translation_learner},
      {"rnn", make_translation_learner},
      {"conv", make_translation_learner},
      {"non-autoregressive", make_translation_learner},
      {"gpt", make_language_learner},
      {"bert", make_masked_learner},
      {"vit", make_image_learner},
      {"cnn", make_image_learner},
      {"classifier", make_classification_learner},
      {"tagger", make_tagging_learner},
  };
  return list;
}

namespace {

void use_embeddings(const TrainOptions& o, Learner& learner, bool fresh) {
  Param& table = token_embeddings(learner.model()).weight;
  if (fresh) {
    const auto parts = learner.description();
    const auto source = parts.find("source_tokenizer");
    const TokenizerPtr tokenizer =
        deserialize_tokenizer(source == parts.end() ? parts.at("tokenizer") : source->second);
    const Index all = tokenizer->size() - kSpecialTokens,
                found = load_embeddings(o.embeddings, *tokenizer, table.value(),
                                        o.kind == "rnn" ? "d-embed" : "d-model");
    learner.add_note(
        fmt::format("  embeddings: {} of {} tokens of the vocabulary are in {} ({:.1f} %){}", found,
                    all, o.embeddings, 100 * static_cast<double>(found) / static_cast<double>(all),
                    o.freeze_embeddings ? "; the table is not trained" : ""));
  }
  table.leaf().trainable = !o.freeze_embeddings;
}

}  // namespace

std::string kind_names() {
  std::string names;
  for (const Kind& k : kinds()) names += (names.empty() ? "" : ", ") + k.name;
  return names;
}

std::unique_ptr<Learner> make_learner(const TrainOptions& options, const Checkpoint* from) {
  for (const Kind& k : kinds())
    if (k.name == options.kind) {
      require_memory(options, static_cast<double>(inspect_machine().memory_bytes));
      seed(static_cast<std::uint64_t>(options.seed));
      auto learner = k.learner(options, from);
      if (options.precision == "float64") learner->model().to(DType::Float64);
      if (!options.embeddings.empty()) use_embeddings(options, *learner, from == nullptr);
      return learner;
    }
  throw ValueError("--kind", "'" + options.kind + "' is not one of " + kind_names());
}

}  // namespace glim
