// The convolutional sequence-to-sequence model (Gehring et al. 2017, arXiv 1705.03122, section 3):
// no recurrence, and no attention within a sequence, but stacked convolutions on both sides.
//
//   GLU([a; b]) = a sigmoid(b)    Dauphin et al. 2017; √½ keeps the variance of a sum of two
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
//   src (B, S), tgt_in (B, T) -> logits (B, T, V); all layers have width D, PE is learned (or as config.positions says)
//
// Position t sees targets t - L (k - 1) ... t: the path from one end of a sentence to the other
// grows with its length, n/(k - 1) layers. Padding is set to zero before each of the
// encoder's convolutions, like the outside of a sequence, so it reaches no state. Nothing attends to it.
//
// Left out of the paper: weight normalisation and scaled encoder gradients (both serve
// SGD), and the maps between widths: here there is one width. Initial values are section 3.5's: with p
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
#include "models/row.hpp"
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
  Index max_len = 256;  // longest sequence; learned positions have as many rows
  Positions positions = Positions::Learned;  // or Sinusoidal, of this base, or None
  double position_base = 10000;
  Index pad = 0;

  Rows rows();
};

// One layer's GLU(conv(dropout(x))), x (B, T, D) -> u (B, T, D).
class GatedConvolution : public Layer {
 public:
  // asks: with the query projection of decoder layers
  GatedConvolution(const ConvSeq2SeqConfig& config, ConvPadding mode, bool asks);
  // The last position of a window x (B, k, D), the inputs up to it: (B, 1, D).
  Var forward_window(const Var& x);

  Child<Conv1d> conv;
  Child<Dropout> dropout;
  Child<std::unique_ptr<Linear>> query;  // W_l, b_l

 private:
  Var forward(const Var& x) override;
};

class ConvEncoder : public Callable<ConvEncoder> {
 public:
  explicit ConvEncoder(const ConvSeq2SeqConfig& config);
  Child<ModuleList<GatedConvolution>> layers;

  Var forward(const Var& e, const Tensor& keep);  // e (B, S, D), keep (B, S): h_L (B, S, D)
};

// The encoder's output, to which the decoder attends.
struct ConvMemory {
  Var keys, values;  // (B, S, D)
  Tensor keep;       // (B, 1, S)
  Var root;          // (B, 1, 1): √m
};

struct ConvOutput {
  Var hidden;                  // h_L (B, T, D)
  std::vector<Var> attention;  // each layer's (B, T, S), on request
};

class ConvDecoder : public Callable<ConvDecoder> {
 public:
  explicit ConvDecoder(const ConvSeq2SeqConfig& config);
  Child<ModuleList<GatedConvolution>> layers;

  // With windows, one position g (B, 1, D): they hold each layer's last k inputs (B, k, D) and go on;
  // at first they are zeros.
  ConvOutput forward(const Var& g, const ConvMemory& memory, bool need_attention,
                     std::vector<Tensor>* windows = nullptr);
};

class ConvSeq2Seq : public SequenceModel {
  ConvSeq2SeqConfig config_;

 public:
  explicit ConvSeq2Seq(const ConvSeq2SeqConfig& config);

  ConvMemory encode(const Tensor& src);
  // Embeddings of target tokens from position `offset` on: g.
  Var embed_target(const Tensor& ids, Index offset = 0);
  Var generate(const Var& hidden);  // (..., D) -> (..., V)

  TeacherForced teach(const SourceBatch& source, const Tensor& tgt_in,
                      const TeachOptions& options = {}) override;
  const ConvSeq2SeqConfig& config() const { return config_; }

  Child<Embedding> GLIM_NAMED(src_embed, config_.src_vocab, config_.d_model);
  Child<Embedding> GLIM_NAMED(tgt_embed, config_.tgt_vocab, config_.d_model);
  Child<PositionalEncoding> GLIM_NAMED(src_positions, config_.positions, config_.d_model,
                                       config_.dropout, config_.max_len, config_.position_base);
  Child<PositionalEncoding> GLIM_NAMED(tgt_positions, config_.positions, config_.d_model,
                                       config_.dropout, config_.max_len, config_.position_base);
  Child<ConvEncoder> GLIM_NAMED(encoder, config_);
  Child<ConvDecoder> GLIM_NAMED(decoder, config_);
  Child<Linear> GLIM_NAMED(generator, config_.d_model, config_.tgt_vocab);
  Child<Dropout> GLIM_NAMED(dropout, config_.dropout);  // on the generator's input

 private:
  std::unique_ptr<StepDecoder> new_decoder(const SourceBatch& source) override;
};

}  // namespace glim
