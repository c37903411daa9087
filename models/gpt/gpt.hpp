// A decoder-only language model (Radford et al. 2019) in the form of nanoGPT (Karpathy 2022).
//
//   x = Dropout(wte[ids] + wpe[0 … T-1])              ids (B, T) -> x (B, T, D)
//   x ← x + attention(LN(x)), x ← x + mlp(LN(x))      N times; position t attends to 0 … t
//   logits = LN(x) wteᵀ                               (B, T, V); row t predicts token t+1
//
// mlp(h) = W₂ gelu(W₁ h), d_ff = 4 D. The head's weight is the embedding's (Press & Wolf 2017) and
// has no bias; `bias` gives all other layers and norms one. Weights start N(0, σ), σ = 0.02,
// the last projection of each residual branch N(0, σ/√(2N)), biases 0 (Radford et al. 2019, 2.3).
//
// The blocks are the encoder layers of models/transformer/layers.hpp under a causal mask, so names are
// the names of torch.nn.TransformerEncoder(TransformerEncoderLayer(norm_first=True,
// activation="gelu")); models/gpt/gpt.md says which of nanoGPT's weights they are.
//
// Dropout falls on the embeddings' sum, the attention's probabilities and each branch's output.
//
// Errors: ValueError for sizes that make no model; IndexError for ids outside the vocabulary or a
// sequence longer than the context; ShapeError unless ids are (B, T) with T ≥ 1.
#pragma once

#include <memory>

#include "models/decoding/decoding.hpp"
#include "models/row.hpp"
#include "models/transformer/layers.hpp"
#include "nn/attention/positions.hpp"
#include "nn/embedding.hpp"

namespace glim {

struct GptConfig {
  Index vocab = 0, context = 64;  // longest sequence
  Index d_model = 128, heads = 4, layers = 4;
  Index d_ff = 0;  // 0: 4 D
  double dropout = 0;
  bool bias = false;
  double norm_eps = 1e-5;
  double init = 0.02;  // deviation of the initial weights
  Activation activation = Activation::Gelu;
  // The number of first tokens that have probability 0: Glim's vocabularies have them, an imported one lacks them.
  Index never_predicted = 0;
  // Or Sinusoidal, of this base, Rotary or ALiBi in attention, or None: the mask alone tells the order.
  Positions positions = Positions::Learned;
  double position_base = 10000;
  bool qk_norm = false;   // norms of each head's queries and keys: nn/attention/head_options.hpp
  bool share_qk = false;  // one projection for queries and keys
  double attention_scale = 0;  // factor of Q Kᵀ in the scores; 0: 1/√Dh
  AttentionForm attention_form = AttentionForm::Softmax;
  NormKind norm_kind = NormKind::Layer;
  FeedForward feed_forward = FeedForward::Plain;  // Gated with the activation SiLU is SwiGLU
  Index kv_heads =
      0;  // heads of keys and values, each for neighbouring heads of the query; 0: as many as heads

  Rows rows();
};

class Gpt : public Callable<Gpt> {
  GptConfig config_;

 public:
  explicit Gpt(const GptConfig& config);

  // Continues prefixes (B, n), n ≥ 0: its first step appends token n. Keys and values are
  // kept, which gives the same probabilities as the whole context at each step. When the context
  // is full its first `slide` tokens are dropped. The rest moves to the front and is computed again.
  // With slide 1, as in nanoGPT, each token sees the whole context. With more, the cache is used for
  // `slide` steps (0: a quarter of the context). The model must outlive it and be in
  // eval() (StateError). ValueError for a prefix that leaves no room for a step, or a slide
  // outside [0, context].
  std::unique_ptr<StepDecoder> decoder_for(const Tensor& prefix, Index slide = 0);

  const GptConfig& config() const { return config_; }

  Child<Embedding> wte;
  Child<PositionalEncoding> wpe;
  Child<Encoder> transformer;
  Child<Linear> lm_head;

  Var forward(const Tensor& ids);  // (B, T) -> (B, T, V)

 private:
  friend class GptDecoder;
  Var logits(const Var& hidden);
};

}  // namespace glim
