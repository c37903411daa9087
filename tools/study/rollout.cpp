// rollout: whether attention, followed through the layers, says what the output depends on.
//
// Abnar & Zuidema 2020 (arXiv 2005.00928), tables 1 and 2: on verb number prediction (Linzen et al.
// 2016) the attention of [CLS] at the last layer hardly correlates with the input gradients, rollout
// (tools/measure/rollout.hpp) does.
//
// Their task, from a small grammar: is the verb that is hidden singular or plural? It agrees with
// the subject's head, which is behind an optional phrase and an adjective, and before nouns of
// any number that distract:
//
//   [CLS] (by the old KEYS ,) the (old) CABINET near the DOORS (of the HOUSE) [VERB]  ->  singular
//
// A classifier of 6 layers is trained on fresh sentences. Then, for sentences it has not seen and
// each input token j but [CLS] itself:
//
//   input gradient   ‖∂(logit_true - logit_other)/∂e_j‖, e_j the token's embedding
//   ablation         how far logit_true - logit_other moves when padding takes the token's place
//   raw attention    row [CLS] of the layer's probabilities, mean of the heads
//   rollout          row [CLS] of the product of the layers up to this one
//
// and Spearman's correlation of the latter two with each of the first, mean over the sentences.
#include "tools/measure/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/magnification.hpp"
#include "models/bert/bert.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim {

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

namespace {

struct Sizes {
  Index layers, steps, batch, sentences;
};

SequenceClassifier make_classifier(const Sizes& sizes) {
  BertConfig c;
  c.vocab = AgreementSentence::kVocabulary;
  c.d_model = 64;
  c.heads = 4;
  c.d_ff = 128;
  c.layers = sizes.layers;
  c.max_len = 32;
  c.dropout = 0;
  c.norm = NormPlacement::Pre;
  c.init = 1 / std::sqrt(64.0);
  return SequenceClassifier(c, 2, Pooling::First);
}

void train(SequenceClassifier& model, const Sizes& sizes) {
  Adam adam(model.named_parameters(), {.rate = 1e-3, .beta2 = 0.98});
  CosineSchedule schedule(1e-3, sizes.steps / 10, sizes.steps + 1);
  for (Index step = 1; step <= sizes.steps; ++step) {
    std::vector<AgreementSentence> sentences;
    std::size_t longest = 0;
    for (Index i = 0; i < sizes.batch; ++i) {
      sentences.push_back(agreement_sentence(generator().next()));
      longest = std::max(longest, sentences.back().ids.size());
    }
    Tensor ids = zeros({sizes.batch, static_cast<Index>(longest)}, DType::Int64);
    std::vector<Index> numbers;
    for (Index i = 0; i < sizes.batch; ++i) {
      const AgreementSentence& s = sentences[static_cast<std::size_t>(i)];
      for (std::size_t t = 0; t < s.ids.size(); ++t)
        ids.data<Index>()[i * static_cast<Index>(longest) + static_cast<Index>(t)] = s.ids[t];
      numbers.push_back(s.number);
    }
    {
      Tape tape;
      tape.backward(cross_entropy(model(ids), from_vector(numbers, {sizes.batch})));
    }
    clip_gradient_norm(model.named_parameters(), 1);
    adam.set_rate(schedule.rate(step));
    adam.step();
    adam.zero_grad();
  }
}

std::vector<double> doubles(const Tensor& x) { return x.to(DType::Float64).to_vector<double>(); }

// logit_true - logit_other of each row of logits (N, 2).
std::vector<double> margins(const Tensor& logits, Index truth) {
  Tensor of_truth = select(logits, 1, truth), of_other = select(logits, 1, 1 - truth);
  return doubles(sub(of_truth, of_other));
}

// How far the margin moves without token j: padding in its place, which no one attends to. 0 for
// [CLS].
std::vector<double> ablation(SequenceClassifier& model, const AgreementSentence& s) {
  Index length = std::ssize(s.ids);
  Tensor ids = broadcast_to(from_vector(s.ids, {1, length}), {length, length}).contiguous();
  for (Index j = 1; j < length; ++j)
    ids.data<Index>()[j * length + j] = AgreementSentence::kPadding;
  std::vector<double> without = margins(model(ids).value(), s.number);
  std::vector<double> moved;
  for (double m : without) moved.push_back(std::abs(m - without[0]));
  return moved;
}

// Attention, rollout, gradient and ablation of one sentence.
struct Importances {
  std::vector<std::vector<double>> raw, rolled;  // by layer, by token, [CLS] first
  std::vector<double> gradient, ablation;
  bool right = false;
};

Importances importances(SequenceClassifier& model, const AgreementSentence& s) {
  Importances found;
  Magnify magnify(Magnification::Explicit);
  Tape tape;
  tape.watch("*.probs");
  tape.watch("bert.embed.*");
  Var logits = model(from_vector(s.ids, {1, std::ssize(s.ids)}));
  found.right = margins(logits.value(), s.number)[0] > 0;
  std::vector<double> direction{-1, -1};
  direction[static_cast<std::size_t>(s.number)] = 1;
  tape.backward(logits, from_vector(direction, {1, 2}).to(logits.dtype()));
  std::vector<Tensor> probs;
  for (const Watched& w : tape.watched()) {
    if (w.path.ends_with(".probs"))
      probs.push_back(select(w.value, 0, 0));  // (1, H, T, T) -> (H, T, T)
    else if (w.grad.defined())
      found.gradient = doubles(sqrt(sum(mul(w.grad, w.grad), {-1})));
  }
  for (const Tensor& p : probs) found.raw.push_back(doubles(select(mean(p, {0}), 0, 0)));
  for (const Tensor& r : rollout_by_layer(probs)) found.rolled.push_back(doubles(select(r, 0, 0)));
  model.zero_grad();
  found.ablation = ablation(model, s);
  return found;
}

// Of all tokens but the first.
double correlation(std::vector<double> a, std::vector<double> b) {
  a.erase(a.begin());
  b.erase(b.begin());
  return spearman(a, b);
}

Measurement trained_classifier(std::uint64_t, bool small) {
  Measurement m;
  const Sizes sizes = small ? Sizes{2, 20, 8, 4} : Sizes{6, 400, 64, 200};
  SequenceClassifier model = make_classifier(sizes);
  train(model, sizes);
  model.eval();
  auto layers = static_cast<std::size_t>(sizes.layers);
  std::vector<double> raw(layers, 0), rolled(layers, 0), raw_ablation = raw, rolled_ablation = raw;
  double right = 0, both = 0, both_raw = 0;
  for (Index i = 0; i < sizes.sentences; ++i) {
    Importances of = importances(model, agreement_sentence(generator().next()));
    right += of.right;
    for (std::size_t l = 0; l < layers; ++l) {
      raw[l] += correlation(of.raw[l], of.gradient);
      rolled[l] += correlation(of.rolled[l], of.gradient);
      raw_ablation[l] += correlation(of.raw[l], of.ablation);
      rolled_ablation[l] += correlation(of.rolled[l], of.ablation);
    }
    both += spearman(of.rolled.back(), of.gradient);
    both_raw += spearman(of.raw.back(), of.gradient);
  }
  auto count = static_cast<double>(sizes.sentences);
  for (std::size_t l = 0; l < layers; ++l) {
    for (auto* sum : {&raw, &rolled, &raw_ablation, &rolled_ablation}) (*sum)[l] /= count;
    auto layer = static_cast<double>(l + 1);
    m.curve("correlation", "raw attention", layer, raw[l]);
    m.curve("correlation", "rollout", layer, rolled[l]);
    m.curve("ablation", "raw attention", layer, raw_ablation[l]);
    m.curve("ablation", "rollout", layer, rolled_ablation[l]);
  }
  m.values["last"] = rolled.back() - raw.back();
  double difference = 0;
  for (std::size_t l = 1; l < layers; ++l)
    difference += (rolled[l] - raw[l]) / static_cast<double>(layers - 1);
  m.values["layers"] = difference;
  m.values["ablation"] = rolled_ablation.back() - raw_ablation.back();
  m.values["raw"] = raw.back();
  m.values["rollout"] = rolled.back();
  m.values["best_raw"] = *std::max_element(raw.begin(), raw.end());
  m.values["with_cls"] = (both - both_raw) / count;
  m.values["accuracy"] = right / count;
  return m;
}

}  // namespace

Study rollout_study() {
  return {
      "rollout",
      "Rollout correlates better with input gradients and with ablation than raw attention does "
      "(Spearman).",
      "Abnar & Zuidema 2020, arXiv 2005.00928, tables 1 and 2",
      "verb number prediction on sentences of 7 to 18 tokens, vocabulary 58; classifier of 6 "
      "layers, d 64, d_ff 128, 4 heads, pre-norm, [CLS] pooling; 400 updates of 64 sentences, "
      "Adam, "
      "peak rate 1e-3; 200 fresh sentences",
      "classifier of 2 layers, 20 updates of 8 sentences; 4 fresh sentences",
      {
          {"last", "gradients, last layer: correlation of rollout less that of raw attention", 0.06,
           kInf,
           "better is a positive difference. Over some 12 tokens a correlation has a deviation "
           "of about 0.3, the mean difference of 200 sentences one of 0.03: two of them."},
          {"layers", "the same, mean of the layers from the second on", 0.06, kInf,
           "the paper compares at each layer; at the first the two order tokens alike."},
          {"ablation", "ablation, last layer: the same difference", 0.06, kInf,
           "as for gradients."},
          {"raw", "last layer: correlation of raw attention", -1, 1, "shown.", false},
          {"rollout", "last layer: correlation of rollout", -1, 1, "shown.", false},
          {"best_raw", "raw attention at the layer where it correlates best", -1, 1, "shown.",
           false},
          {"with_cls", "last layer, [CLS] among the tokens: difference", -1, 2,
           "shown: the residual gives [CLS] much of its own rollout.", false},
          {"accuracy", "accuracy of the classifier", 0, 1,
           "shown: what is explained should be right.", false},
      },
      {{"correlation", "Correlation with the input gradients", "layer",
        "Spearman, mean of the sentences"},
       {"ablation", "Correlation with the effect of leaving tokens out", "layer",
        "Spearman, mean of the sentences"}},
      trained_classifier};
}

}  // namespace glim
