// The task of the rollout study: is the hidden verb singular or plural? It agrees with the subject's head, which is
// behind an optional phrase and an adjective, and before nouns of any number that distract:
//
//   [CLS] (by the old KEYS ,) the (old) CABINET near the DOORS (of the HOUSE) [VERB]  ->  singular
#include <cmath>

#include "models/pipeline/padded.hpp"
#include "nn/loss.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::rollout_study {

AgreementSentence agreement_sentence(RandomKey key) {
  std::uint64_t draws = 0;
  auto below = [&](Index n) {
    return static_cast<Index>(uniform_at(key, draws++) * static_cast<double>(n));
  };
  AgreementSentence s;
  s.ids.push_back(AgreementSentence::kCls);
  auto noun = [&](Index number) {
    s.ids.push_back(AgreementSentence::kThe);
    if (below(3) == 0) s.ids.push_back(AgreementSentence::kFirstAdjective + below(8));
    s.ids.push_back(AgreementSentence::kFirstNoun + 2 * below(20) + number);
  };
  auto preposition = [&] { s.ids.push_back(AgreementSentence::kFirstPreposition + below(5)); };
  if (below(2) == 0) {
    preposition();
    noun(below(2));
    s.ids.push_back(AgreementSentence::kComma);
  }
  s.number = below(2);
  noun(s.number);
  for (Index phrases = 1 + below(2); phrases > 0; --phrases) {
    preposition();
    noun(below(2));
  }
  s.ids.push_back(AgreementSentence::kVerb);
  return s;
}

SequenceClassifier agreement_classifier(Index layers) {
  BertConfig c;
  c.vocab = AgreementSentence::kVocabulary;
  c.d_model = 64;
  c.heads = 4;
  c.d_ff = 128;
  c.layers = layers;
  c.max_len = 32;
  c.dropout = 0;
  c.norm = NormPlacement::Pre;
  c.init = 1 / std::sqrt(64.0);
  return SequenceClassifier(c, 2, Pooling::First);
}

AgreementBatch agreement_batch(Index count) {
  std::vector<AgreementSentence> sentences;
  for (Index i = 0; i < count; ++i) sentences.push_back(agreement_sentence(generator().next()));
  std::vector<const std::vector<Index>*> rows;
  std::vector<Index> numbers;
  for (const AgreementSentence& s : sentences) {
    rows.push_back(&s.ids);
    numbers.push_back(s.number);
  }
  return {padded_rows(rows, false, false), from_vector(numbers, {count})};
}

void train_on_agreement(SequenceClassifier& model, Index steps, Index batch) {
  train(model, steps, 1e-3, [&](Index) {
    const AgreementBatch sentences = agreement_batch(batch);
    return cross_entropy(model(sentences.ids), sentences.numbers);
  });
}

}  // namespace glim::rollout_study
