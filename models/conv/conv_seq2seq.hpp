// The convolutional sequence-to-sequence model (Gehring et al. 2017, arXiv 1705.03122, section 3):
// no recurrence, and no attention within a sequence, but stacked convolutions on both sides.
//
//   GLU([a; b]) = a σ(b)          Dauphin et al. 2017; √½ keeps the variance of a sum of two
//
//   encoder   e = embed(src) + PE              h_0 = e
//             h_l = √½ (GLU(conv_l(h_{l-1})) + h_{l-1})      windows of k around each position
//             keys z = h_L, values v = √½ (z + e)
//   decoder   g = embed(tgt_in) + PE           h_0 = g
//             u = GLU(conv_l(h_{l-1}))                       windows of the k positions up to t
//             d = √½ (W_l u + b_l + g)                       equation 1
//             c_t = √m Σ_s softmax_s(d_t · z_s) v_s          equation 2, m source tokens
//             h_l = √½ (√½ (u + c) + h_{l-1})
//   logits = generator(h_L)
//
//   src (B, S), tgt_in (B, T) -> logits (B, T, V); all layers have width D, PE is learned
//
// Position t sees targets t - L (k - 1) ... t: the path from one end of a sentence to the other
// grows with its length, n/(k - 1) layers. Padding is zero before each of the encoder's
// convolutions, as the outside of a sequence is, so it reaches no state; no attention goes there.
//
// Left out of the paper: weight normalisation and scaled encoder gradients (both there for the sake
// of SGD), and the maps between widths, which are one here. Initial values are section 3.5's: with p
// the share that dropout keeps and n the inputs of an output, N(0, √(4p/n)) before a GLU, N(0, √(p/n))
// elsewhere, embeddings N(0, 0.1), biases 0. Dropout falls on embeddings and on the inputs of the
// convolutions and of the generator.
//
// Scheduled sampling takes two passes, as with a Transformer (models/decoding/scheduled_sampling.hpp).
//
// Errors: ValueError for sizes that make no model; IndexError for ids outside a vocabulary and
// sequences beyond max_len; ShapeError for other ranks.
#pragma once

#include <memory>

#include "models/decoding/sequence_model.hpp"
#include "nn/attention/positions.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/vision/conv.hpp"

namespace glim {

struct ConvSeq2SeqConfig {
  Index src_vocab = 0, tgt_vocab = 0;
  Index d_model = 256, kernel = 3;
  Index encoder_layers = 4, decoder_layers = 3;
  double dropout = 0.1;
  Index max_len = 256;  // rows of the learned positions
  Index pad = 0;
};

// One layer's GLU(conv(dropout(x))), x (B, T, D) -> u (B, T, D).
class GatedConvolution final : public Module {
 public:
  // asks: with the query projection of decoder layers
  GatedConvolution(const ConvSeq2SeqConfig& config, ConvPadding mode, bool asks);
  Var forward(const Var& x);
  // The last position of a window x (B, k, D), the inputs up to it: (B, 1, D).
  Var forward_window(const Var& x);

  Conv1d& conv;
  Dropout& dropout;
  Linear* query;  // W_l, b_l
};

class ConvEncoder final : public Module {
 public:
  explicit ConvEncoder(const ConvSeq2SeqConfig& config);
  Var forward(const Var& e, const Tensor& keep);  // e (B, S, D), keep (B, S): h_L (B, S, D)
  ModuleList<GatedConvolution>& layers;
};

// What the decoder attends to.
struct ConvMemory {
  Var keys, values;  // (B, S, D)
  Tensor keep;       // (B, 1, S)
  Var root;          // (B, 1, 1): √m
};

class ConvDecoder final : public Module {
 public:
  explicit ConvDecoder(const ConvSeq2SeqConfig& config);
  // g (B, T, D) -> h_L (B, T, D); `attention`, if given, receives each layer's (B, T, S).
  Var forward(const Var& g, const ConvMemory& memory, std::vector<Var>* attention);
  // One position, g (B, 1, D): `windows` holds each layer's last k inputs (B, k, D) and goes on;
  // at first they are zeros. `attention` receives the last layer's (B, S).
  Var forward_step(const Var& g, std::vector<Tensor>& windows, const ConvMemory& memory,
                   Tensor& attention);
  ModuleList<GatedConvolution>& layers;

 private:
  // From u and the layer's input h to its output; `weights`, if given, receives the attention.
  Var attend(GatedConvolution& layer, const Var& u, const Var& h, const Var& g,
             const ConvMemory& memory, Var* weights);
};

class ConvSeq2Seq final : public SequenceModel {
 public:
  explicit ConvSeq2Seq(const ConvSeq2SeqConfig& config);

  ConvMemory encode(const Tensor& src);
  // Embeddings of target tokens from position `offset` on: g.
  Var embed_target(const Tensor& ids, Index offset = 0);
  Var generate(const Var& hidden);  // (..., D) -> (..., V)

  Taught teach(const SourceBatch& source, const Tensor& tgt_in,
               const TeachOptions& options = {}) override;
  std::unique_ptr<StepDecoder> decoder_for(const SourceBatch& source, bool cached = true) override;
  Index max_len() const override { return config_.max_len; }
  Index pad() const override { return config_.pad; }
  Index src_vocab() const override { return config_.src_vocab; }
  Index tgt_vocab() const override { return config_.tgt_vocab; }
  const ConvSeq2SeqConfig& config() const { return config_; }

  Embedding &src_embed, &tgt_embed;
  LearnedPositionalEmbedding &src_positions, &tgt_positions;
  ConvEncoder& encoder;
  ConvDecoder& decoder;
  Linear& generator;
  Dropout& dropout;  // on the generator's input

 private:
  ConvSeq2SeqConfig config_;
};

}  // namespace glim
