#include "models/pipeline/text_generator.hpp"

#include <algorithm>

#include "models/pipeline/described.hpp"
#include "models/pipeline/text_stream.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"

namespace glim {

TextGenerator::TextGenerator(const ModelFile& m) {
  const GptConfig config = described_gpt(m);
  tokenizer_ = described_tokenizer(m, config.vocab);
  model_ = loaded_model<Gpt>(m, config);
}

void TextGenerator::check(const GenerateOptions& o) const {
  const Index context = model_->config().context;
  if (o.max_tokens < 0) throw ValueError("max_tokens", "must not be negative");
  if (o.slide < 0 || o.slide > context)
    throw ValueError("slide", "must be from 0 to " + std::to_string(context) + " (the context)");
  glim::check(o.sampling, model_->config().vocab);
}

std::vector<Index> TextGenerator::encode(const std::string& prompt) const {
  if (auto bad = first_invalid_utf8(prompt))
    throw ValueError("prompt", describe_invalid_utf8(prompt, *bad));
  std::vector<Index> ids = tokenizer_->encode_text(prompt);
  if (ids.empty()) throw ValueError("prompt", "has no token to begin with");
  auto unknown = [&](Index id) { return id == kUnk || id < model_->config().never_predicted; };
  if (std::ranges::any_of(ids, unknown))
    throw ValueError("prompt",
                     unknown_part(*tokenizer_, prompt) + " is not in the vocabulary of the model");
  const Index context = model_->config().context;
  if (std::ssize(ids) > context)
    throw ValueError("prompt", "has " + std::to_string(ids.size()) +
                                   " tokens, the model has a context of " +
                                   std::to_string(context));
  return ids;
}

std::string TextGenerator::as_read(const std::string& prompt) const {
  TextStream text(tokenizer_);
  std::string read;
  for (Index token : encode(prompt)) read += text.push(token);
  return read;
}

std::string TextGenerator::generate(const std::vector<Index>& ids, const GenerateOptions& o,
                                    const std::function<void(std::string_view)>& piece) const {
  check(o);
  SamplingOptions sampling = o.sampling;
  // As characters, line ends are tokens of their own; else they are </s>.
  if (tokenizer_->kind() == "char") sampling.never.push_back(kEos);
  TextStream text(tokenizer_);
  for (Index token : ids) text.push(token);
  const Index before = std::ssize(ids) - 1;
  auto decoder =
      model_->decoder_for(narrow(from_vector(ids, {1, before + 1}), 1, 0, before), o.slide);
  std::string all;
  auto take = [&](const std::string& chars) {
    all += chars;
    if (piece) piece(chars);
  };
  glim::generate(*decoder, ids.back(), o.max_tokens, sampling, {o.seed, o.sample},
                 [&](Index token) {
                   if (token == tokenizer_->end_of_text()) return false;
                   take(text.push(token));
                   return true;
                 });
  take(text.rest());
  return all;
}

}  // namespace glim
