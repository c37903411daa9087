// A sentence some of whose tokens are hidden, of a bert: <s> x_1 … x_n </s>, [MASK] in the place of the hidden ones, or
// another token: "3" hides token 3, "3=cat" shows cat there.
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "tensor/error.hpp"
#include "tools/inspect/example.hpp"
#include "tools/train/learners/bert.hpp"
#include "tools/train/learners/kinds.hpp"

namespace glim {
namespace {

Index token_named(const Tokenizer& tokenizer, const std::string& piece) {
  for (Index id = kSpecialTokens; id < tokenizer.size(); ++id)
    if (tokenizer.piece(id) == piece) return id;
  throw ValueError("--hide", "the model has no token '" + piece + "'");
}

// Hides these tokens of the sentence, and asks for them. Gives their positions.
std::vector<Index> hide(Example& e, const std::vector<std::string>& given, Index mask) {
  const Tokenizer& tokenizer = *e.tokenizers.source;
  const Index last = std::ssize(e.source) - 2;
  std::map<Index, Index> tokens;  // by position: the token that is shown there
  for (const std::string& text : given) {
    Index t = 0, shown = mask;
    const char* stop = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), stop, t);
    if (error != std::errc() || (end != stop && *end != '=') || t < 1 || t > last)
      throw ValueError("--hide",
                       fmt::format("the sentence has the tokens 1 to {}, not {}", last, text));
    if (end != stop) shown = token_named(tokenizer, std::string(end + 1, stop));
    tokens[t] = shown;
  }
  if (tokens.empty()) tokens[(last + 1) / 2] = mask;
  std::vector<Index> hidden;
  for (auto [t, shown] : tokens) {
    auto at = static_cast<std::size_t>(t);
    hidden.push_back(t);
    e.target_out.push_back(e.source[at]);
    e.target_out_ids.push_back(e.source_ids[at]);
    e.target_text += (e.target_text.empty() ? "" : " ") + e.source[at];
    e.source_ids[at] = shown;
    e.source[at] = shown == mask ? "[MASK]" : tokenizer.piece(shown);
  }
  return hidden;
}

}  // namespace

void read_masked(Example& e, const ExampleOptions& options) {
  std::shared_ptr<MaskedLanguageModel> bert;
  TrainOptions trained = options.fresh;
  if (options.init) {
    const std::shared_ptr<Learner> fresh = make_learner(options.fresh);
    bert = {fresh, &dynamic_cast<MaskedLanguageModel&>(fresh->model())};
    e.tokenizers.source = deserialize_tokenizer(fresh->description().at("tokenizer"), "bert");
  } else {
    LoadedBert loaded = load_bert(options.model);
    bert = std::move(loaded.model);
    e.tokenizers.source = loaded.tokenizer;
    trained = loaded.options;
  }
  e.tokenizers.target = e.tokenizers.source;
  if (options.float64) bert->to(DType::Float64);
  const BertConfig& config = bert->bert.config();
  read_sentence(e, text_or_phrase(options.source, trained), config.max_len - 2);
  const std::vector<Index> hidden = hide(e, options.hide, config.mask());
  e.label_smoothing = trained.label_smoothing;
  e.pad = kPad;
  e.module = bert;
  e.logits = [bert, hidden, ids = e.source_ids] {
    return (*bert)(from_vector(ids, {1, std::ssize(ids)}),
                   from_vector(hidden, {std::ssize(hidden)}));  // (M, V)
  };
}

}  // namespace glim
