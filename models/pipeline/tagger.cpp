#include "models/pipeline/tagger.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "autograd/tape.hpp"
#include "models/pipeline/described.hpp"
#include "models/pipeline/padded.hpp"
#include "tensor/error.hpp"

namespace glim {

Tagger::Tagger(const ModelFile& m) {
  DescribedClassifier d = described_classifier(m, Gives::TokenClasses);
  labels_ = std::move(d.labels);
  tokenizer_ = std::move(d.tokenizer);
  model_ = loaded_model<TokenClassifier>(m, d.config, labels_.size());
}

std::vector<std::int64_t> token_numbers(const Tokenizer& tokenizer,
                                        const std::vector<std::string>& tokens,
                                        const std::string& name) {
  if (tokens.empty()) throw FileError(name, "has no token");
  std::vector<std::int64_t> ids{kBos};
  for (const std::string& token : tokens) {
    const auto token_ids = tokenizer.encode(token);
    if (token_ids.size() != 1)
      throw FileError(name, "the token '" + token + "' is " + std::to_string(token_ids.size()) +
                                " of the model's, not one");
    ids.push_back(token_ids[0]);
  }
  return ids;
}

std::vector<Classified> Tagger::tag(const std::vector<std::string>& tokens, bool truncate,
                                    const std::string& name) const {
  NoGrad no_tape;
  std::vector<std::int64_t> ids = token_numbers(*tokenizer_, tokens, name);
  const Index most = model_->bert.config().max_len - 1;
  if (std::ssize(ids) > most && !truncate)
    throw FileError(name, "more than " + std::to_string(most - 1) +
                              " tokens, the model's longest sentence (--truncate cuts it)");
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(most)));
  const Tensor logits = (*model_)(padded_rows({&ids}, false, true)).value();  // (1, S, C)
  return classified(narrow(select(logits, 0, 0), 0, 1, std::ssize(ids) - 1));
}

std::vector<Span> spans_of(const std::vector<std::string>& labels) {
  std::vector<Span> spans;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    const std::string& label = labels[t];
    if (label == "O") continue;
    const bool prefixed = label.starts_with("B-") || label.starts_with("I-");
    const std::string type = prefixed ? label.substr(2) : label;
    const bool goes_on = !label.starts_with("B-") && !spans.empty() && spans.back().end == t &&
                         spans.back().type == type;
    if (goes_on)
      ++spans.back().end;
    else
      spans.push_back({t, t + 1, type});
  }
  return spans;
}

void SpanCounts::add(const std::vector<std::string>& tags, const std::vector<std::string>& truth) {
  const std::vector<Span> ours = spans_of(tags), theirs = spans_of(truth);
  found += std::ssize(ours);
  expected += std::ssize(theirs);
  right += std::ranges::count_if(
      ours, [&](const Span& s) { return std::ranges::find(theirs, s) != theirs.end(); });
}

std::string SpanCounts::describe() const {
  return fmt::format("F1 of spans {:.4f} (precision {:.4f}, recall {:.4f}; {} of {})", f1(),
                     precision(), recall(), right, expected);
}

}  // namespace glim
