// A text and its next tokens, of a gpt.
#include <algorithm>

#include "tools/inspect/example.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/learners/language.hpp"

namespace glim {
namespace {

class TextExample final : public Example {
 public:
  explicit TextExample(const ExampleOptions& options) {
    TrainOptions trained = options.fresh;
    if (options.init) {
      fresh_ = make_learner(options.fresh);
      gpt_ = &dynamic_cast<Gpt&>(fresh_->model());
      tokenizers.source = deserialize_tokenizer(fresh_->description().at("tokenizer"), "gpt");
    } else {
      loaded_ = load_language_model(options.model);
      gpt_ = loaded_.model.get();
      tokenizers.source = loaded_.tokenizer;
      trained = loaded_.checkpoint.options;
    }
    tokenizers.target = tokenizers.source;
    if (options.float64) gpt_->to(DType::Float64);
    target_text = text_or_phrase(options.source, trained);
    const Tokenizer& tokenizer = *tokenizers.target;
    const bool line = target_text.find('\n') == std::string::npos;
    ids_ = line && tokenizer.encode(target_text).empty() ? std::vector<std::int64_t>()
                                                         : tokenizer.encode_text(target_text);
    target_out_ids = ids_;
    require_fits("--sentence", ids_, gpt_->config().context + 1, &tokenizer);
    if (std::ranges::any_of(ids_, [&](Index id) { return id < gpt_->config().never_predicted; }))
      throw ValueError("--sentence",
                       "has what the imported vocabulary lacks: " + lacking(tokenizer));
    if (ids_.size() < 2)
      throw ValueError("--sentence", "a text of one token has no next one to predict");
    target_out = target_in = shown(tokenizer);
    ids_.pop_back();
    target_out_ids.erase(target_out_ids.begin());
    target_in.pop_back();
    target_out.erase(target_out.begin());
    label_smoothing = trained.label_smoothing;
  }

  Module& model() override { return *gpt_; }
  Var summed_loss() override {
    const auto length = std::ssize(ids_);
    Var logits = (*gpt_)(from_vector(ids_, {1, length}));  // (1, T, V)
    return label_smoothing_loss(reshape(logits, {length, -1}),
                                from_vector(target_out_ids, {length}), label_smoothing, kPad)
        .loss;
  }

 private:
  std::string lacking(const Tokenizer& tokenizer) const {
    const auto parts = unknown_parts(tokenizer, target_text, std::ssize(ids_));
    return parts.empty() ? "a line end" : "'" + parts[0] + "'";
  }
  std::vector<std::string> shown(const Tokenizer& tokenizer) const {
    std::vector<std::string> tokens = shown_tokens(tokenizer, target_text);
    if (tokens.size() == ids_.size() && target_text.find('\n') == std::string::npos) return tokens;
    tokens.clear();
    for (std::int64_t id : ids_)
      tokens.push_back(tokenizer.decode({id}) == "\n" ? "↵" : tokenizer.piece(id));
    return tokens;
  }

  LoadedLanguageModel loaded_;
  std::unique_ptr<Learner> fresh_;
  Gpt* gpt_ = nullptr;  // of one of them
  std::vector<std::int64_t> ids_;
};

}  // namespace

std::unique_ptr<Example> read_text(const ExampleOptions& o) {
  return std::make_unique<TextExample>(o);
}

}  // namespace glim
