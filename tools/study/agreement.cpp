// The task of the rollout study: is the hidden verb singular or plural? It agrees with the subject's head, which is
// behind an optional phrase and an adjective, and before nouns of any number that distract:
//
//   [CLS] (by the old KEYS ,) the (old) CABINET near the DOORS (of the HOUSE) [VERB]  ->  singular
#include <cmath>

#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/study/measures.hpp"

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
  for (Index more = 1 + below(2); more > 0; --more) {
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

void train_on_agreement(SequenceClassifier& model, Index steps, Index batch) {
  Adam adam(model.named_parameters(), {.rate = 1e-3, .beta2 = 0.98});
  Schedule schedule = cosine_schedule(1e-3, steps / 10, steps + 1);
  for (Index step = 1; step <= steps; ++step) {
    std::vector<AgreementSentence> sentences;
    for (Index i = 0; i < batch; ++i) sentences.push_back(agreement_sentence(generator().next()));
    std::vector<const std::vector<Index>*> rows;
    std::vector<Index> numbers;
    for (const AgreementSentence& s : sentences) {
      rows.push_back(&s.ids);
      numbers.push_back(s.number);
    }
    Tensor ids = padded_rows(rows, false, false);
    {
      Tape tape;
      tape.backward(cross_entropy(model(ids), from_vector(numbers, {batch})));
    }
    clip_gradient_norm(model.named_parameters(), 1);
    adam.set_rate(schedule.rate(step));
    adam.step();
    adam.zero_grad();
  }
}

}  // namespace glim::rollout_study
