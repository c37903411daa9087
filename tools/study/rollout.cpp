// rollout: whether attention, followed through the layers, says what the output depends on.
//
// Abnar & Zuidema 2020 (arXiv 2005.00928), tables 1 and 2: on verb number prediction (Linzen et al.
// 2016) the attention of [CLS] at the last layer hardly correlates with the input gradients, rollout
// (tools/measure/rollout.hpp) does.
//
// Their task, from a small grammar: is the verb that is hidden singular or plural (agreement.cpp)?
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

#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::rollout_study {
namespace {

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
  UseForm use(OpForm::Explicit);
  Tape tape({.replay = true});
  Watch embedded(tape, "bert.embed.*");
  Var logits = model(from_vector(s.ids, {1, std::ssize(s.ids)}));
  found.right = margins(logits.value(), s.number)[0] > 0;
  std::vector<double> direction{-1, -1};
  direction[static_cast<std::size_t>(s.number)] = 1;
  tape.backward(logits, from_vector(direction, {1, 2}).to(logits.dtype()));
  for (const Watched& w : embedded.values())
    if (w.grad.defined()) found.gradient = row_norms(w.grad);
  std::vector<Tensor> probs;
  for (int i = 0; i < static_cast<int>(tape.nodes().size()); ++i)
    if (const Node& n = tape.nodes()[static_cast<std::size_t>(i)]; is_attention(n.name(), n.label))
      probs.push_back(select(tape.value(i).value(), 0, 0));  // (1, H, T, T) -> (H, T, T)
  for (const Tensor& p : probs) found.raw.push_back(doubles(select(mean(p, {0}), 0, 0)));
  for (const Tensor& r : rollout_by_layer(probs)) found.rolled.push_back(doubles(select(r, 0, 0)));
  model.zero_grad();
  found.ablation = ablation(model, s);
  return found;
}

// The correlation over all tokens but the first.
double correlation(std::vector<double> a, std::vector<double> b) {
  a.erase(a.begin());
  b.erase(b.begin());
  return spearman(a, b);
}

}  // namespace

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const Index depth = small ? 2 : 6, sentences = small ? 4 : 200;
  SequenceClassifier model = agreement_classifier(depth);
  train_on_agreement(model, small ? 20 : 400, small ? 8 : 64);
  model.eval();
  auto layers = static_cast<std::size_t>(depth);
  // Mean correlations by layer, of raw attention and of rollout.
  std::vector<double> gradient[2]{std::vector<double>(layers), std::vector<double>(layers)};
  std::vector<double> ablation[2]{gradient[0], gradient[1]};
  double right = 0, both[2] = {0, 0};
  for (Index i = 0; i < sentences; ++i) {
    Importances scores = importances(model, agreement_sentence(generator().next()));
    right += scores.right;
    for (int rolled : {0, 1}) {
      const auto& attention = rolled ? scores.rolled : scores.raw;
      for (std::size_t l = 0; l < layers; ++l) {
        gradient[rolled][l] += correlation(attention[l], scores.gradient);
        ablation[rolled][l] += correlation(attention[l], scores.ablation);
      }
      both[rolled] += spearman(attention.back(), scores.gradient);
    }
  }
  auto count = static_cast<double>(sentences);
  for (std::size_t l = 0; l < layers; ++l)
    for (int rolled : {0, 1}) {
      gradient[rolled][l] /= count;
      ablation[rolled][l] /= count;
      const char* name = rolled ? "rollout" : "raw attention";
      m.curve("correlation", name, static_cast<double>(l + 1), gradient[rolled][l]);
      m.curve("ablation", name, static_cast<double>(l + 1), ablation[rolled][l]);
    }
  const auto &raw = gradient[0], &rolled = gradient[1];
  m.values["last"] = rolled.back() - raw.back();
  double difference = 0;
  for (std::size_t l = 1; l < layers; ++l)
    difference += (rolled[l] - raw[l]) / static_cast<double>(layers - 1);
  m.values["layers"] = difference;
  m.values["ablation"] = ablation[1].back() - ablation[0].back();
  m.values["raw"] = raw.back();
  m.values["rollout"] = rolled.back();
  m.values["best_raw"] = *std::max_element(raw.begin(), raw.end());
  m.values["with_cls"] = (both[1] - both[0]) / count;
  m.values["accuracy"] = right / count;
  return m;
}

}  // namespace glim::rollout_study
