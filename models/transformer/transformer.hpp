// The Transformer (Vaswani et al. 2017): encoder, decoder, embeddings, generator.
//
//   memory = encoder(√D · embed(src) + PE)           src (B, S) -> memory (B, S, D)
//   hidden = decoder(√D · embed(tgt_in) + PE, memory) tgt_in (B, T) -> hidden (B, T, D)
//   logits = generator(hidden)                        (B, T, V); the softmax is the loss's part
//
// Teacher forcing shifts the target: tgt_in = <s> y, tgt_out = y </s>. Keep-masks are built from
// padding: the decoder sees earlier targets that are not padding, and source tokens that are not.
//
// Tying (Press & Wolf 2017): Decoder shares the target embedding with the generator's weight; All
// shares the source embedding as well, and needs one vocabulary.
//
// Every matrix starts Xavier-uniform (Glorot & Bengio 2010), biases of attention at 0.
//
// With `copy` the output is a mixture with the source's words, log-probabilities of V + extra
// (nn/attention/pointer_generator.hpp): its attention is the last layer's to the memory, averaged over heads, its state
// the hidden state, its input the embedding with its position.
//
// Errors: ValueError for sizes that make no model (heads that do not divide D, vocabularies that
// differ under Tie::All); IndexError for ids outside a vocabulary; ShapeError for other ranks.
#pragma once

#include <memory>

#include "models/decoding/sequence_model.hpp"
#include "models/row.hpp"
#include "models/transformer/layers.hpp"
#include "nn/attention/pointer_generator.hpp"
#include "nn/attention/positions.hpp"
#include "nn/embedding.hpp"

namespace glim {

enum class Tie { None, Decoder, All };
template <>
inline const ChoiceNames<Tie> kNames<Tie>{
    {{"none", Tie::None}, {"decoder", Tie::Decoder}, {"all", Tie::All}}};
// The stacks whose layers backward runs again (models/transformer/layers.hpp).
enum class Recompute { None, Encoder, All };
template <>
inline const ChoiceNames<Recompute> kNames<Recompute>{
    {{"none", Recompute::None}, {"encoder", Recompute::Encoder}, {"all", Recompute::All}}};

struct TransformerConfig : LayerSizes {
  Index src_vocab = 0, tgt_vocab = 0;
  Index encoder_layers = 6, decoder_layers = 6;
  Tie tie = Tie::None;
  Index max_len = 5000;          // longest sequence; learned positions have as many rows
  double position_base = 10000;  // for sinusoidal positions
  // Deviation of the initial embeddings; 0: xavier-uniform, as for every other matrix. 1/√D gives a
  // token's vector √D E[token] entries of deviation 1, the size of its position's (Ott et al. 2019).
  double embedding_init = 0;
  Recompute recompute = Recompute::None;
  Index pad = 0;
  bool copy = false;
  Index unk = 3;  // the target embedding of a copied word

  Rows rows();
};

// Returns `config`. ValueError, naming the model, for sizes that make no model.
const TransformerConfig& checked(const TransformerConfig& config, std::string_view model);
// The request of a decoder that attends to the sources src (B, S).
AttentionRequest memory_request(const Tensor& src, Index pad, bool need_attention);
// Draws every matrix of the model, `embeddings` as config.embedding_init says.
void initialise(Module& model, const TransformerConfig& config, const std::vector<Var>& embeddings);

class Transformer : public Callable<Transformer, SequenceModel> {
  TransformerConfig config_;

 public:
  explicit Transformer(const TransformerConfig& config);

  Var encode(const Tensor& src);  // (B, S, D)
  // (B, T, D), and if asked for each layer's attention to the memory (B, H, T, S).
  DecoderOutput decode(const Tensor& tgt_in, const Var& memory, const Tensor& src,
                       bool need_attention = false);
  Var generate(const Var& hidden) { return generator(hidden); }  // (..., V)

  // Logits, or the mixture, with each decoder layer's attention to the source (B, H, T, S) if asked
  // for. Scheduled sampling takes two passes (models/decoding/scheduled_sampling.hpp).
  TeacherForced teach(const SourceBatch& source, const Tensor& tgt_in,
                      const TeachOptions& options = {}) override;

  const TransformerConfig& config() const { return config_; }

  Child<Embedding> GLIM_NAMED(src_embed, config_.src_vocab, config_.d_model);
  Child<Embedding> GLIM_NAMED(tgt_embed, config_.tgt_vocab, config_.d_model);
  Child<Encoder> GLIM_NAMED(encoder, config_.encoder_layers, config_,
                            config_.recompute != Recompute::None);
  Child<Decoder> GLIM_NAMED(decoder, config_.decoder_layers, config_,
                            config_.recompute == Recompute::All);
  Child<Linear> GLIM_NAMED(generator, config_.d_model, config_.tgt_vocab);

  Var forward(const Tensor& src, const Tensor& tgt_in);  // (B, T, V)

 private:
  std::unique_ptr<StepDecoder> new_decoder(const SourceBatch& source) override;
  friend class CachedTransformerDecoder;
  Var embed(Embedding& table, PositionalEncoding& positions, const Tensor& ids, Index offset = 0);
  DecoderOutput decode_embedded(const Var& x, const Tensor& tgt_in, const Var& memory,
                                const Tensor& src, bool need_attention);
  // The output after each prefix of tgt_in: (B, T, V + extra).
  TeacherForced answer(const Tensor& tgt_in, const Var& memory, const SourceBatch& source,
                       const TeachOptions& options);

 public:
  // Learned positions are one table a side; the sinusoidal ones have no parameters.
  Child<PositionalEncoding> GLIM_NAMED(src_positions, config_.positions, config_.d_model,
                                       config_.dropout, config_.max_len, config_.position_base);
  Child<PositionalEncoding> GLIM_NAMED(tgt_positions, config_.positions, config_.d_model,
                                       config_.dropout, config_.max_len, config_.position_base);
  Child<std::unique_ptr<PointerGenerator>> copy;  // with config.copy
};

}  // namespace glim
