// Encoder and decoder layers and stacks (Vaswani et al. 2017, figure 1), under the names of
// torch.nn.TransformerEncoder and torch.nn.TransformerDecoder.
//
//   encoder layer   x ← residual(self-attention), x ← residual(feed-forward)
//   decoder layer   x ← residual(causal self-attention), x ← residual(attention to the memory),
//                   x ← residual(feed-forward)
//
// x (B, T, D), memory (B, S, D). Each residual is pre- or post-norm (nn/residual.hpp); a final norm
// follows a stack of pre-norm layers unless final_norm says otherwise. Keep-masks broadcast to (B, H, queries, keys).
// A request that needs weights gets the probabilities of the attention to the memory.
//
// A layer or stack computes a whole sequence. With a cache it computes new positions x (B, n, D), which attend to those
// before them, too. A cache of a decoder holds the memory's keys and values: the memory is not read.
//
// With `recompute`, training keeps only the input of each layer, and backward runs the layer again
// (Chen et al. 2016, arXiv 1604.06174): the same gradients, bit for bit, for one more forward pass of
// the stack. A layer whose attention is asked for is kept.
#pragma once

#include "nn/attention/multihead.hpp"
#include "nn/feed_forward.hpp"
#include "nn/residual.hpp"

namespace glim {

struct LayerSizes {
  Index d_model = 512, heads = 8, d_ff = 2048;
  double dropout = 0.1;  // on the outputs of sublayers
  NormPlacement norm = NormPlacement::Post;
  Activation activation = Activation::Relu;
  double norm_eps = 1e-5;
  bool bias = true;  // every projection, linear layer and norm has one
  // On attention probabilities, and on the hidden layer; as dropout unless given.
  std::optional<double> attention_dropout = {}, activation_dropout = {};
  Positions positions = Positions::Sinusoidal;  // Rotary and Alibi are self-attention's
  bool share_qk = false;                        // one projection for queries and keys
  std::optional<bool> final_norm = {};          // behind a stack; pre-norm ones alone unless given
  NormKind norm_kind = NormKind::Layer;
  FeedForward feed_forward = FeedForward::Plain;
  Index kv_heads = 0;          // heads of keys and values; 0: as many as heads
  double attention_scale = 0;  // factor of Q Kᵀ in the scores; 0: 1/√Dh
  bool qk_norm = false;        // norms of queries and keys, with norm_eps
  AttentionForm form = AttentionForm::Softmax;

  AttentionOptions attention(Positions relative = Positions::None) const;
  std::unique_ptr<Layer> new_norm() const {
    return glim::new_norm(norm_kind, d_model, norm_eps, bias);
  }
  std::unique_ptr<Linear> new_gate() const {
    return feed_forward == FeedForward::Gated ? std::make_unique<Linear>(d_model, d_ff, bias)
                                              : nullptr;
  }
  double hidden_dropout() const { return activation_dropout.value_or(dropout); }
};

class EncoderLayer : public Callable<EncoderLayer> {
  LayerSizes sizes_;

 public:
  explicit EncoderLayer(const LayerSizes& sizes) : sizes_(sizes) {}

  Child<MultiheadAttention> GLIM_NAMED(self_attn, sizes_.d_model, sizes_.heads,
                                       sizes_.attention(sizes_.positions));
  Child<Linear> GLIM_NAMED(linear1, sizes_.d_model, sizes_.d_ff, sizes_.bias);
  Child<Linear> GLIM_NAMED(linear2, sizes_.d_ff, sizes_.d_model, sizes_.bias);
  Child<std::unique_ptr<Linear>> GLIM_NAMED(linear3, sizes_.new_gate());  // the gate, if gated
  Child<std::unique_ptr<Layer>> GLIM_NAMED(norm1, sizes_.new_norm());
  Child<std::unique_ptr<Layer>> GLIM_NAMED(norm2, sizes_.new_norm());
  Child<Dropout> GLIM_NAMED(dropout, sizes_.hidden_dropout());
  Child<Dropout> GLIM_NAMED(dropout1, sizes_.dropout);
  Child<Dropout> GLIM_NAMED(dropout2, sizes_.dropout);

  Var forward(const Var& x, const AttentionRequest& request = {}, KeyValueCache* cache = nullptr);
};

// Keys and values that a decoder layer keeps of the positions already decoded.
struct DecoderLayerCache {
  KeyValueCache self, memory;
};

class DecoderLayer : public Callable<DecoderLayer> {
  LayerSizes sizes_;

 public:
  explicit DecoderLayer(const LayerSizes& sizes) : sizes_(sizes) {}

  Child<MultiheadAttention> GLIM_NAMED(self_attn, sizes_.d_model, sizes_.heads,
                                       sizes_.attention(sizes_.positions));
  Child<MultiheadAttention> GLIM_NAMED(multihead_attn, sizes_.d_model, sizes_.heads,
                                       sizes_.attention());
  Child<Linear> GLIM_NAMED(linear1, sizes_.d_model, sizes_.d_ff, sizes_.bias);
  Child<Linear> GLIM_NAMED(linear2, sizes_.d_ff, sizes_.d_model, sizes_.bias);
  Child<std::unique_ptr<Linear>> GLIM_NAMED(linear3, sizes_.new_gate());  // the gate, if gated
  Child<std::unique_ptr<Layer>> GLIM_NAMED(norm1, sizes_.new_norm());
  Child<std::unique_ptr<Layer>> GLIM_NAMED(norm2, sizes_.new_norm());
  Child<std::unique_ptr<Layer>> GLIM_NAMED(norm3, sizes_.new_norm());
  Child<Dropout> GLIM_NAMED(dropout, sizes_.hidden_dropout());
  Child<Dropout> GLIM_NAMED(dropout1, sizes_.dropout);
  Child<Dropout> GLIM_NAMED(dropout2, sizes_.dropout);
  Child<Dropout> GLIM_NAMED(dropout3, sizes_.dropout);

  AttentionOutput forward(const Var& x, const Var& memory, const AttentionRequest& self_request,
                          const AttentionRequest& memory_request,
                          DecoderLayerCache* cache = nullptr);
};

// Layers under the names "layers.0", ..., and a last norm where final_norm says so.
template <class L>
class LayerStack : public Module {
 public:
  LayerStack(Index count, const LayerSizes& s, bool recompute = false) : recompute_(recompute) {
    for (Index i = 0; i < count; ++i) layers.append(s);
    if (s.final_norm.value_or(s.norm == NormPlacement::Pre)) norm = {*this, "norm", s.new_norm()};
  }
  Child<ModuleList<L>> GLIM_NAMED(layers);
  Child<std::unique_ptr<Layer>> norm;

 protected:
  Var normed(const Var& x) const { return norm ? norm(x) : x; }
  bool recompute_;
};

class Encoder : public Callable<Encoder, LayerStack<EncoderLayer>> {
 public:
  using Callable::Callable;
  // One cache a layer.
  Var forward(Var x, const AttentionRequest& request = {},
              std::vector<KeyValueCache>* caches = nullptr);
};

struct DecoderOutput {
  Var hidden;
  // Each layer's attention to the memory, with caches of the last alone; empty unless asked for.
  std::vector<Var> attention;
};

class Decoder : public Callable<Decoder, LayerStack<DecoderLayer>> {
 public:
  using Callable::Callable;
  DecoderOutput forward(Var x, const Var& memory, const AttentionRequest& self_request,
                        AttentionRequest memory_request,
                        std::vector<DecoderLayerCache>* caches = nullptr);
};

}  // namespace glim
