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

class MaskedExample final : public Example {
 public:
  explicit MaskedExample(const ExampleOptions& options) {
    TrainOptions trained = options.fresh;
    if (options.init) {
      fresh_ = make_learner(options.fresh);
      bert_ = &dynamic_cast<MaskedLanguageModel&>(fresh_->model());
      tokenizers.source = deserialize_tokenizer(fresh_->description().at("tokenizer"), "bert");
    } else {
      loaded_ = load_bert(options.model);
      bert_ = loaded_.model.get();
      tokenizers.source = loaded_.tokenizer;
      trained = loaded_.options;
    }
    tokenizers.target = tokenizers.source;
    if (options.float64) bert_->to(DType::Float64);
    read_sentence(*this, text_or_phrase(options.source, trained), bert_->bert.config().max_len - 2);
    hide(options.hide);
    label_smoothing = trained.label_smoothing;
  }

  Module& model() override { return *bert_; }
  Var summed_loss() override {
    Var logits = (*bert_)(from_vector(source_ids, {1, std::ssize(source_ids)}),
                          from_vector(hidden_, {std::ssize(hidden_)}));  // (M, V)
    return label_smoothing_loss(logits, from_vector(target_out_ids, {std::ssize(hidden_)}),
                                label_smoothing, kPad)
        .loss;
  }

 private:
  void hide(const std::vector<std::string>& given) {
    const Index last = std::ssize(source) - 2;
    std::map<Index, Index> tokens;  // by position: the token that is shown there
    for (const std::string& text : given) {
      Index t = 0, shown = bert_->bert.config().mask();
      const char* stop = text.data() + text.size();
      auto [end, error] = std::from_chars(text.data(), stop, t);
      if (error != std::errc() || (end != stop && *end != '=') || t < 1 || t > last)
        throw ValueError("--hide",
                         fmt::format("the sentence has the tokens 1 to {}, not {}", last, text));
      if (end != stop) shown = token_named(std::string(end + 1, stop));
      tokens[t] = shown;
    }
    if (tokens.empty()) tokens[(last + 1) / 2] = bert_->bert.config().mask();
    for (auto [t, shown] : tokens) {
      auto at = static_cast<std::size_t>(t);
      hidden_.push_back(t);
      target_out.push_back(source[at]);
      target_out_ids.push_back(source_ids[at]);
      target_text += (target_text.empty() ? "" : " ") + source[at];
      source_ids[at] = shown;
      source[at] =
          shown == bert_->bert.config().mask() ? "[MASK]" : tokenizers.source->piece(shown);
    }
  }
  Index token_named(const std::string& piece) const {
    for (Index id = kSpecialTokens; id < tokenizers.source->size(); ++id)
      if (tokenizers.source->piece(id) == piece) return id;
    throw ValueError("--hide", "the model has no token '" + piece + "'");
  }

  LoadedBert loaded_;
  std::unique_ptr<Learner> fresh_;
  MaskedLanguageModel* bert_ = nullptr;  // of one of them
  std::vector<Index> hidden_;            // (M)
};

}  // namespace

std::unique_ptr<Example> read_masked(const ExampleOptions& o) {
  return std::make_unique<MaskedExample>(o);
}

}  // namespace glim
