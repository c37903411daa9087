// Encoder-only models (BERT, Devlin et al. 2019, arXiv 1810.04805): every position sees all others.
//
//   x = Dropout(LN(embed[ids] + PE))                  ids (B, S) -> x (B, S, D)
//   hidden = encoder(x)                               (B, S, D); no position attends to padding
//
// Three heads:
//
//   masked tokens    logits_m = LN(gelu(W h_m + c)) embedᵀ + b      for each chosen position m
//   classification   logits = W_c Dropout(pooled) + b_c             (B, C)
//                    pooled = tanh(W_p h_0 + b_p), h_0 the first token's, as in BERT,
//                    or the mean of the h_t that are not padding
//   labels           logits_t = W_c Dropout(h_t) + b_c              for each token (B, S, C)
//
// Pre-training (section 3.1): 15 % of the tokens of each sentence are chosen, to be predicted from the
// rest. Of the chosen ones 80 % become [MASK], 10 % a random token, and 10 % stay as they are. [MASK]
// has the last number of the vocabulary. There is only one sentence, so there are no segments and no
// next-sentence task (which does no harm: Liu et al. 2019, arXiv 1907.11692).
//
// Layers have the names of torch.nn.TransformerEncoder; both heads' models hold the encoder as
// `bert`, so that pre-trained weights load by name. Matrices start N(0, σ), σ = 0.02 as in BERT,
// biases 0.
//
// Errors: ValueError for sizes that make no model; IndexError for ids outside the vocabulary or
// (learned positions) a sequence longer than max_len; ShapeError unless ids are (B, S).
#pragma once

#include "models/pooling.hpp"
#include "models/row.hpp"
#include "models/transformer/layers.hpp"
#include "nn/attention/positions.hpp"
#include "nn/embedding.hpp"
#include "tensor/random.hpp"

namespace glim {

struct BertConfig {
  Index vocab = 0;  // with [MASK], the last
  Index max_len = 256;
  Index d_model = 128, heads = 4, layers = 2;
  Index d_ff = 0;  // 0: 4 D
  double dropout = 0.1;
  NormPlacement norm = NormPlacement::Post;
  Activation activation = Activation::Gelu;
  Positions positions = Positions::Learned;  // or Sinusoidal, of this base, or None
  double position_base = 10000;
  bool share_qk = false;  // one projection for queries and keys
  double norm_eps = 1e-5;
  Index pad = 0;
  double init = 0.02;  // deviation of the initial weights

  Index mask() const { return vocab - 1; }
  Rows rows();
};

class Bert : public Callable<Bert> {
  BertConfig config_;

 public:
  explicit Bert(const BertConfig& config);
  const BertConfig& config() const { return config_; }

  Child<Embedding> embed;
  Child<PositionalEncoding> positions;
  Child<LayerNorm> norm;
  Child<Dropout> dropout;
  Child<Encoder> encoder;

  Var forward(const Tensor& ids);  // (B, S) -> (B, S, D)
};

class MaskedLanguageModel : public Callable<MaskedLanguageModel> {
 public:
  explicit MaskedLanguageModel(const BertConfig& config);

  Child<Bert> bert;
  Child<Linear> transform;
  Child<LayerNorm> norm;
  Child<Linear> generator;  // its weight is bert.embed's

  // Logits (M, V) of the positions `chosen` (M,) among the B·S of ids, row by row.
  Var forward(const Tensor& ids, const Tensor& chosen);
};

class TokenClassifier : public Callable<TokenClassifier> {
 public:
  // ValueError for fewer than 2 classes.
  TokenClassifier(const BertConfig& config, Index classes);

  Child<Bert> bert;
  Child<Dropout> dropout;
  Child<Linear> classifier;

  Var forward(const Tensor& ids);  // (B, S) -> logits (B, S, C)
};

class SequenceClassifier : public Callable<SequenceClassifier> {
 public:
  // ValueError for fewer than 2 classes.
  SequenceClassifier(const BertConfig& config, Index classes, Pooling pooling);

  Child<Bert> bert;
  Child<std::unique_ptr<Linear>> pooler;  // with Pooling::First
  Child<Dropout> dropout;
  Child<Linear> classifier;

  Var forward(const Tensor& ids);  // (B, S) -> logits (B, C)
};

struct MaskingOptions {
  double share = 0.15;  // share of a sentence's tokens; at least one
  double masked = 0.8, random = 0.1;
  Index first_token = 4;  // lower numbers are special: never chosen, never put in
};
// How many of a sentence's n tokens are chosen: the nearest number to share·n within 1 ... n.
Index chosen_count(Index n, double share);
struct Masked {
  Tensor ids;      // (B, S), with the chosen tokens replaced
  Tensor chosen;   // (M,): positions among the B·S
  Tensor targets;  // (M,): what stood there
};
// A function of (ids, options, key). `mask` is [MASK]'s number, all tokens are below it. ValueError
// for shares outside [0, 1].
Masked mask_tokens(const Tensor& ids, Index mask, const MaskingOptions& options, RandomKey key);

}  // namespace glim
