#include "tools/kinds/sentences.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/pipeline/padded.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tools/common/counted.hpp"

namespace glim {

void SentenceSet::add(const Tokenizer& tokenizer, const std::string& sentence, Index number,
                      Index longest) {
  EncodedSentence e = encoded_sentence(tokenizer, sentence, longest);
  cut += e.cut;
  text.push_back(e.cut ? tokenizer.decode(e.ids) : sentence);
  unknown += static_cast<Index>(std::count(e.ids.begin(), e.ids.end(), kUnk));
  pairs.push_back({std::move(e.ids), {number}});
}

Tensor padded_ids(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& rows) {
  return make_batch(pairs, rows).source;
}

Tensor with_words_dropped(const Tensor& ids, double share) {
  Tensor token = greater_equal(ids, scalar(static_cast<double>(kSpecialTokens), DType::Int64));
  Tensor hidden = logical_and(token, bernoulli(ids.shape(), share, generator().next()));
  return where(hidden, scalar(static_cast<double>(kUnk), DType::Int64), ids);
}

bool SentenceLearner::is_unsplit() const {
  std::vector<const std::vector<Index>*> lines;
  for (const TokenPair& p : train_.pairs) lines.push_back(&p.source);
  return glim::is_unsplit(*tokenizer_, lines);
}

std::vector<std::string> SentenceLearner::summary() const {
  std::vector<std::string> lines{
      fmt::format("data: {} training sentences, {} validation; {} tokens in the vocabulary",
                  train_.pairs.size(), valid_.pairs.size(), tokenizer_->size())};
  if (train_.cut + valid_.cut > 0)
    lines.push_back(
        fmt::format("  cut to --max-length: {}", counted(train_.cut + valid_.cut, "sentence")));
  if (valid_.unknown > 0)
    lines.push_back(fmt::format("  not in the vocabulary: {} of the validation text",
                                counted(valid_.unknown, "token")));
  note_smaller_vocabulary(options_, false, *tokenizer_, lines);
  add_choices(lines);
  return lines;
}

}  // namespace glim
