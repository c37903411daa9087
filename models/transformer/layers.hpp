// Encoder and decoder layers and stacks (Vaswani et al. 2017, figure 1), under the names of
// torch.nn.TransformerEncoder and torch.nn.TransformerDecoder.
//
//   encoder layer   x ← residual(self-attention), x ← residual(feed-forward)
//   decoder layer   x ← residual(causal self-attention), x ← residual(attention to the memory),
//                   x ← residual(feed-forward)
//
// x (B, T, D), memory (B, S, D). Each residual is pre- or post-norm (nn/residual.hpp); with
// pre-norm a final norm follows the stack. Keep-masks broadcast to (B, H, queries, keys).
// `attention`, if given, receives the probabilities to the memory (B, H, T, S), a Var a layer.
//
// With `recompute`, training keeps of each layer its input alone and backward runs the layer again
// (Chen et al. 2016, arXiv 1604.06174): the same gradients, bit for bit, for one more forward pass of
// the stack. Layers whose attention was asked for are kept.
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
  bool bias = true;  // of every projection, linear layer and norm
  // On attention probabilities, and on the hidden layer; below 0: as dropout.
  double attention_dropout = -1, activation_dropout = -1;
  RelativePositions positions = RelativePositions::None;  // of self-attention
  bool recompute = false;                                 // a stack's layers, in training
};

class EncoderLayer final : public Module {
 public:
  explicit EncoderLayer(const LayerSizes& sizes);
  Var forward(const Var& x, const AttentionRequest& request);
  // One or more new positions x (B, n, D), each of which attends to itself and all before it.
  Var forward_cached(const Var& x, KeyValueCache& cache);

  MultiheadAttention& self_attn;
  Linear &linear1, &linear2;
  LayerNorm &norm1, &norm2;
  Dropout &dropout, &dropout1, &dropout2;

 private:
  template <class Attend>
  Var sublayers(const Var& x, const Attend& attend);
  LayerSizes sizes_;
};

// What a decoder layer keeps of the positions already decoded.
struct DecoderLayerCache {
  KeyValueCache self, memory;
};

class DecoderLayer final : public Module {
 public:
  explicit DecoderLayer(const LayerSizes& sizes);
  Var forward(const Var& x, const Var& memory, const AttentionRequest& self_request,
              const AttentionRequest& memory_request, Var* attention = nullptr);
  // One or more new positions x (B, n, D); `weights`, if given, receives the attention to the
  // memory (B, n, S), averaged over heads.
  Var forward_cached(const Var& x, DecoderLayerCache& cache, const AttentionRequest& memory_request,
                     Tensor* weights);

  MultiheadAttention &self_attn, &multihead_attn;
  Linear &linear1, &linear2;
  LayerNorm &norm1, &norm2, &norm3;
  Dropout &dropout, &dropout1, &dropout2, &dropout3;

 private:
  LayerSizes sizes_;
};

class Encoder final : public Module {
 public:
  Encoder(Index count, const LayerSizes& sizes);
  Var forward(Var x, const AttentionRequest& request);
  // As a decoder without a memory: new positions x (B, n, D), one cache a layer.
  Var forward_cached(Var x, std::vector<KeyValueCache>& caches);

  ModuleList<EncoderLayer>& layers;
  LayerNorm* norm = nullptr;  // with pre-norm

 private:
  bool recompute_;
};

class Decoder final : public Module {
 public:
  Decoder(Index count, const LayerSizes& sizes);
  Var forward(Var x, const Var& memory, const AttentionRequest& self_request,
              const AttentionRequest& memory_request, std::vector<Var>* attention = nullptr);
  Var forward_cached(Var x, std::vector<DecoderLayerCache>& caches,
                     const AttentionRequest& memory_request, Tensor* weights);

  ModuleList<DecoderLayer>& layers;
  LayerNorm* norm = nullptr;

 private:
  bool recompute_;
};

}  // namespace glim
