// The studies, and what they measure, in functions of their own, so that tests can call them on cases with a known
// answer.
#pragma once

#include <vector>

#include "models/bert/bert.hpp"
#include "models/gpt/gpt.hpp"
#include "models/transformer/transformer.hpp"
#include "nn/attention/multihead.hpp"
#include "nn/attention/positions.hpp"
#include "nn/layer_norm.hpp"
#include "nn/residual.hpp"
#include "nn/vision/batch_norm.hpp"
#include "tensor/random.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/study/features.hpp"
#include "tools/study/study.hpp"

namespace glim {

// Each study: its word in studies.toml, and its namespace, which has measure(seed, small).
// clang-format off
#define GLIM_STUDIES(F) \
  F("norm-placement", norm_placement) F("warm-up", warm_up) F("scaling", scaling) F("rank-collapse", rank_collapse) \
  F("identical-tokens", identical_tokens) F("entropy", entropy) F("dependence", dependence) \
  F("label-smoothing", label_smoothing) F("rollout", rollout_study) F("length", length) \
  F("fixed-or-learned", fixed_or_learned) F("heads", heads) F("norms", norms) F("exposure", exposure) F("bf16", bf16) \
  F("order", order) F("base", base) F("query-is-key", query_is_key) F("bottleneck", bottleneck) F("hunger", hunger) \
  F("influence", influence_study) F("modern", modern) F("edge", edge) F("output-layer", output_layer) \
  F("least-squares", least_squares) F("logits", logits) F("information", information) \
  F("why-adam", why_adam) F("sinks", sinks) F("width", width)
// clang-format on
#define GLIM_MEASURE(word, study)                      \
  namespace study {                                    \
  Measurement measure(std::uint64_t seed, bool small); \
  }
GLIM_STUDIES(GLIM_MEASURE)
#undef GLIM_MEASURE

namespace edge {

// A training with all examples in every update: η λ_max over the threshold, every few updates, and the last loss.
struct Edge {
  std::vector<double> updates, levels;
  double loss = 0;
};
Edge train(std::uint64_t seed, bool adam, double rate, Index updates, Index every);
// The median from the first level of 0.9 on; 0 for fewer than ten.
double level_of(const std::vector<double>& levels);

}  // namespace edge

namespace least_squares {

Tensor optimum();              // Γ⁻¹
double risk(const Tensor& a);  // E(ŷ - y)² of a prediction by A
Tensor learned(std::uint64_t seed, bool merged, Index updates);

}  // namespace least_squares

namespace logits {

// A training at a peak rate: the loss of held-out sequences, that of a blind guess where it is worse or not finite, and the
// largest |S|.
struct Trained {
  double loss, score;
};
Trained train(std::uint64_t seed, bool qk_norm, double rate, Index updates);
double sensitivity(const std::vector<double>& losses);  // mean above the least
// The highest rate whose loss is within ln 16/10 of the least.
double highest(const std::vector<double>& rates, const std::vector<double>& losses);

}  // namespace logits

namespace sinks {

inline constexpr Index kTriggers = 3, kOthers = 28, kLength = 32;  // tokens: <s>, triggers, others
// Sequences (count, 1 + kLength) of the Bigram-Backcopy task.
Tensor backcopy(Index count, RandomKey key, std::uint64_t grammar);
// The shares of the first 8 keys are those of the layer with the largest sink; norms are the first token's over others'.
struct Extremes {
  std::vector<double> shares;
  double drain, peak;
  double sink() const { return shares.front(); }
};
Extremes extremes(Gpt& model, const Tensor& ids);
struct Trained {
  double loss;  // of what follows triggers, over a blind guess
  Extremes found;
};
Trained train(std::uint64_t seed, AttentionForm form, bool adam, Index layers, Index updates);

}  // namespace sinks

namespace width {

// ln η of the least loss, from a parabola through it and its neighbours; an end of the grid where that has the least.
double optimum(const std::vector<double>& rates, const std::vector<double>& losses);
// The root mean square by which 4 updates change embeddings, the layers' outputs and the logits, at width D.
std::vector<double> changes(std::uint64_t seed, Index d, bool mup);

}  // namespace width

namespace information {

// Each position's parent, -1 for a root.
std::vector<Index> forest(std::uint64_t seed, Index length);
// By (i, j), j ≤ i, the means over transitions.
struct Pairs {
  std::vector<double> chi_square, overlap;
};
Pairs expected(const std::vector<Index>& parents, std::uint64_t seed, Index chains);
// -∂L/∂A at A = 0 by (i, j), of batches of 500 prompts.
std::vector<double> first_gradient(const std::vector<Index>& parents, RandomKey key, Index batches);
// The share of children whose largest entry is their parent's, and correlations of the entries of other positions of
// the same tree with another matrix, means over the rows that have 5 or more.
struct RowMeans {
  double parents_largest = 0, spearman = 0, pearson = 0;
};
RowMeans compare(const std::vector<Index>& parents, const std::vector<double>& gradient,
                 const std::vector<double>& other);

}  // namespace information

namespace output_layer {

// The share of ‖g‖, g (N, V), that is orthogonal to the columns of w (V, D); the least of any D dimensions.
double lost_in(const Tensor& g, const Tensor& w);
double lost_at_best(const Tensor& g, Index width);

}  // namespace output_layer

namespace norm_placement {

// ‖∂L/∂W₂‖_F of the last encoder layer in the theorem's setting (norm_placement.cpp), for fresh
// weights, input and target.
double last_layer_gradient(Index layers, NormPlacement norm);
// E‖x_l‖²/d after each layer of pre-norm, x_0 first. The theorem's gain of W₂ is 1.
std::vector<double> pre_norm_growth(Index layers, Index sentences, double gain = 1);

}  // namespace norm_placement

namespace warm_up {

// True if a placement needs warm-up where the other learns without. Losses: without and with it,
// and the other's without. Learned: the loss is below `limit`; it is infinite after a divergence.
bool alone_needs_warm_up(double without, double with, double other, double limit);

}  // namespace warm_up

namespace scaling {

// Scores of independent queries and keys of unit variance, (heads, tokens, d_k) each, through
// scaled_dot_product_attention with values of width 64 and a random upstream gradient, all N(0, 1).
struct ScoreStatistics {
  double variance = 0;       // of the scores
  double entropy = 0;        // of the rows of the softmax, mean, in nats
  double gradient_norm = 0;  // ‖∂L/∂S‖_F
  double median_row = 0;     // of the norms of the rows of ∂L/∂S
};
struct ScorePair {
  ScoreStatistics divided;  // S = QKᵀ/√d_k
  ScoreStatistics raw;      // S = QKᵀ: the queries are multiplied by √d_k beforehand
};
ScorePair score_statistics(Index heads, Index tokens, Index d_k);

}  // namespace scaling

namespace identical_tokens {

// Norms of the gradients of W_Q, W_K and W_V when <y, dy> is differentiated, y = attention(x).
struct ProjectionGradients {
  double query = 0, key = 0, value = 0;
  double largest = 0;  // |element| of the first two
};
ProjectionGradients projection_gradients(MultiheadAttention& attention, const Tensor& x,
                                         const Tensor& dy);
// Multiples of 1/8 in [-1, 1], float64: sums of products of a few of them are exact.
Tensor eighths(const Shape& shape);

}  // namespace identical_tokens

namespace rank_collapse {

// Least (ln r_l - ln r_{l-1})/(ln r_{l-1} - ln r_{l-2}) with r_l > floor: 1 where r falls
// exponentially, 3 where ln r does, threefold in each layer. Infinite for fewer than three r.
double step_growth(const std::vector<double>& r, double floor);

}  // namespace rank_collapse

namespace label_smoothing {

// Largest |∂ℓ/∂logits - (p - q)| over rows of logits (N, V) float64 whose loss is summed: the
// Transformer's (q = 1-ε for the target, 0 for pad, ε/(V-2) for the rest; rows of padding 0), and
// cross-entropy's (q = (1-ε) onehot + ε/V). The losses have `smoothing`, q has `epsilon`. In the
// magnification in force.
double smoothing_gradient_error(const Tensor& logits, const Tensor& target, double smoothing,
                                double epsilon, Index pad);

// A network trained with or without smoothing.
struct Trained {
  double train_spread = 0, held_out_spread = 0;  // cluster_spread() of its features
  double score = 0;                              // on held-out examples: accuracy, or NLL
  Features features = {};                        // of examples that it was trained on
};
// A classifier of points N(template, I), of 10 classes, and a Transformer (label_smoothing.cpp).
struct Points {
  Tensor x, classes;
};
Trained train_classifier(const Points& train, const Points& held_out, double smoothing,
                         Index steps);
Trained train_transformer(std::uint64_t seed, bool small, double smoothing);

}  // namespace label_smoothing

namespace dependence {

// Adds N(0, (η · rms(W))²) to every matrix W of the model; vectors stay.
void perturb(Module& model, double eta);
// Mean square of the change of a fresh encoder's output (dependence.cpp).
struct OutputShifts {
  double random = 0;  // by perturb()
  double update = 0;  // by the first step of Adam
};
OutputShifts output_shifts(Index layers, NormPlacement norm);

}  // namespace dependence

namespace entropy {

// Zhai et al. 2023, theorem 3.1: the least entropy of a softmax over T keys whose logits, less
// their mean, have norm σ. With β = exp(-σ √(T/(T-1))):
//
//   H ≥ ln(1 + (T-1) β) + σ √(T (T-1)) β/(1 + (T-1) β)
//
// At least two keys; σ is not negative.
double entropy_bound(Index keys, double sigma);
// Where it is reached: one logit σ √((T-1)/T), the others -σ/√(T (T-1)).
std::vector<double> extremal_logits(Index keys, double sigma);
// Entropies of the softmax of the logits (N, T), computed by the attention op as the paper's
// attention does: queries √T · logits, keys the identity.
std::vector<double> attention_entropies(const Tensor& logits);

}  // namespace entropy

namespace rollout_study {

// A sentence whose hidden verb agrees with its subject's head (rollout.cpp has the grammar).
struct AgreementSentence {
  enum Token : Index {
    kPadding,
    kCls,
    kVerb,
    kThe,
    kComma,
    kFirstPreposition,                        // 5 of them
    kFirstAdjective = kFirstPreposition + 5,  // 8
    kFirstNoun = kFirstAdjective + 8,         // 20, singular and plural in turn
    kVocabulary = kFirstNoun + 40
  };
  std::vector<Index> ids;
  Index number = 0;  // 0 singular, 1 plural
};
AgreementSentence agreement_sentence(RandomKey key);
struct AgreementBatch {
  Tensor ids, numbers;  // (B, T) padded, (B,)
};
AgreementBatch agreement_batch(Index count);  // of fresh sentences
SequenceClassifier agreement_classifier(Index layers);
// By fresh sentences, each step `batch` of them.
void train_on_agreement(SequenceClassifier& model, Index steps, Index batch);

}  // namespace rollout_study

namespace fixed_or_learned {

// How far the means of two samples are apart, in deviations of one draw.
double distance_in_deviations(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace fixed_or_learned

namespace heads {

// The deviation of the heads' distances, each the mean of the sentences; probs (B, H, T, S).
double spread_of(const Tensor& probs);
// A forward pass: the multiplications of all products, and the spread, the mean of all attentions.
struct ForwardPass {
  double products = 0, spread = 0;
};
ForwardPass forward_pass(Transformer& model, const std::vector<TokenPair>& pairs);

}  // namespace heads

namespace norms {

// Layer norm or batch norm of x (B, T, D), over D or over B and T.
class Norm : public Layer {
 public:
  Norm(Index width, bool batch);

 private:
  Var forward(const Var& x) override;
  Child<std::unique_ptr<LayerNorm>> layer_;
  Child<std::unique_ptr<BatchNorm>> batch_;
};
// How far the numbers of a sentence move in training when the other sentence of its batch is replaced, and when
// both are padded to twice their length.
struct Moved {
  double by_neighbour = 0, by_padding = 0;
};
Moved moved(bool batch);
// The logits of a fresh encoder with either norm, for sentences (B, T).
Tensor fresh_logits(bool batch, const Tensor& ids);

}  // namespace norms

namespace exposure {

// The share of wrong tokens at each step, of greedy outputs for pairs of one length. At step `wrong` all of them are made
// wrong, if there is such a step.
std::vector<double> errors_by_step(SequenceModel& model, const std::vector<TokenPair>& pairs,
                                   std::size_t wrong);
// The mean error of the steps behind this one.
double mean_after(const std::vector<double>& errors, std::size_t step);

}  // namespace exposure

namespace bf16 {

// The nearest number with this many stored bits of precision, ties to even: 7 for bfloat16, 23 for float32.
float rounded(float x, int bits);

}  // namespace bf16

namespace order {

// How far the encoding of a permuted sentence of different words is from the permuted encoding, largest element, or from
// one mean to the other. Of fresh weights in float64.
double moved_by_permutation(Positions positions, const std::vector<Index>& order, bool as_mean);

}  // namespace order

namespace base {

// PE(p)·PE(p + apart)/(width/2): 1 for the same position.
double similarity(Index apart, double base, Index width);

}  // namespace base

namespace query_is_key {

// The mean A_ii of probabilities (..., T, T).
double diagonal_mass(const Tensor& probs);

}  // namespace query_is_key

namespace bottleneck {

// "vector", "attention" or "transformer".
std::unique_ptr<SequenceModel> model_of(const std::string& name);

}  // namespace bottleneck

namespace hunger {

struct Digits {
  Tensor images, classes;  // (N, 1, 12, 12), (N,)
};
Digits draw_digits(Index count, RandomKey key);

}  // namespace hunger

namespace influence_study {

// All sentences of the grammar in a random order.
std::vector<TokenPair> sentences(std::uint64_t seed);

}  // namespace influence_study

namespace modern {

// `text`: a file to learn; of none the phrasebook's English.
Measurement measure_text(std::uint64_t seed, bool small, const std::string& text);
// The modern block's sizes, with no more parameters than a model of these.
GptConfig modern_of(GptConfig sizes);

}  // namespace modern

}  // namespace glim
