// A text and its next tokens, of a gpt.
#include <algorithm>

#include "models/pipeline/text_generator.hpp"
#include "tools/inspect/example.hpp"
#include "tools/train/learners/kinds.hpp"

namespace glim {
namespace {

std::vector<std::string> shown(const Tokenizer& tokenizer, const std::string& text,
                               const std::vector<std::int64_t>& ids) {
  std::vector<std::string> tokens = shown_tokens(tokenizer, text);
  if (tokens.size() == ids.size() && text.find('\n') == std::string::npos) return tokens;
  tokens.clear();
  for (std::int64_t id : ids)
    tokens.push_back(tokenizer.decode({id}) == "\n" ? "↵" : tokenizer.piece(id));
  return tokens;
}

}  // namespace

void read_text(Example& e, const ExampleOptions& options) {
  std::shared_ptr<Gpt> gpt;
  TrainOptions trained = options.fresh;
  if (options.init) {
    const std::shared_ptr<Learner> fresh = make_learner(options.fresh);
    gpt = {fresh, &dynamic_cast<Gpt&>(fresh->model())};
    e.tokenizers.source = deserialize_tokenizer(fresh->description().at("tokenizer"), "gpt");
  } else {
    const Checkpoint checkpoint = load_checkpoint(options.model);
    const TextGenerator loaded(checkpoint);
    gpt = loaded.model();
    e.tokenizers.source = loaded.tokenizer();
    trained = checkpoint.options;
  }
  e.tokenizers.target = e.tokenizers.source;
  if (options.float64) gpt->to(DType::Float64);
  e.target_text = text_or_phrase(options.source, trained);
  const Tokenizer& tokenizer = *e.tokenizers.target;
  const bool line = e.target_text.find('\n') == std::string::npos;
  auto ids = line && tokenizer.encode(e.target_text).empty() ? std::vector<std::int64_t>()
                                                             : tokenizer.encode_text(e.target_text);
  require_fits("--sentence", ids, gpt->config().context + 1, &tokenizer);
  if (std::ranges::any_of(ids, [&](Index id) { return id < gpt->config().never_predicted; }))
    throw ValueError("--sentence", "has what the imported vocabulary lacks: " +
                                       unknown_part(tokenizer, e.target_text));
  if (ids.size() < 2)
    throw ValueError("--sentence", "a text of one token has no next one to predict");
  const auto tokens = shown(tokenizer, e.target_text, ids);
  e.target_in = {tokens.begin(), tokens.end() - 1};
  e.target_out = {tokens.begin() + 1, tokens.end()};
  e.target_out_ids = {ids.begin() + 1, ids.end()};
  ids.pop_back();
  e.label_smoothing = trained.label_smoothing;
  e.pad = kPad;
  e.module = gpt;
  e.logits = [gpt, ids] {
    const auto length = std::ssize(ids);
    return reshape((*gpt)(from_vector(ids, {1, length})), {length, -1});  // of (1, T, V)
  };
}

}  // namespace glim
