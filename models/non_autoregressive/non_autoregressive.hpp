// A decoder that gives all positions at once (Gu et al. 2018, "Non-autoregressive neural machine
// translation", in spirit): the encoder of the Transformer, and its decoder without the causal mask.
//
//   memory = encoder(√D · embed(src) + PE)                    src (B, S) -> memory (B, S, D)
//   x_t    = Σ_s w_ts √D · embed(src_s) + PE(t)               the source, stretched to T positions
//   w_ts   = softmax over s of -|s - t (S-1)/(T-1)| / τ       soft copy (Wei et al. 2019, eq. 4)
//   hidden = decoder(x, memory)                               (B, T, D), each position sees all
//   p(y | x, T) = Π_t softmax(generator(hidden_t))            the tokens are independent, given x
//
// Where T comes from:
//
//   Predict   p(T | x) = softmax over T - S = -reach … reach of a linear map of the memory's mean;
//             its cross-entropy counts like that of one more token of the sentence. Decoding tries
//             the `beam` likeliest lengths and keeps the best by log p(y, T | x) / lp(T).
//   Long      T = 2 S + 10, longer than what will be said; the output ends at the first END. What
//             is behind END is neither trained nor read.
//
// T counts END; S, T are the sentences' own lengths, not the batch's. Target tokens are never read:
// of tgt_in only the lengths matter. There is no target embedding, so that Tie::Decoder ties
// nothing; Tie::All shares the source embedding with the generator.
//
// Errors: ValueError for sizes that make no model, IndexError for ids outside the vocabulary,
// StateError for a decoder by steps, and for decoding in train().
#pragma once

#include <memory>
#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "models/transformer/transformer.hpp"

namespace glim {

enum class OutputLength { Predict, Long };
template <>
inline const ChoiceNames<OutputLength> kNames<OutputLength>{
    {{"predict", OutputLength::Predict}, {"long", OutputLength::Long}}};

// The sizes of a Transformer; copy must be false.
struct NonAutoregressiveConfig : TransformerConfig {
  Index eos = 2;
  OutputLength length = OutputLength::Predict;
  Index length_reach = 32;      // the largest |T - S|; larger ones count as this
  double copy_sharpness = 0.3;  // τ

  Rows rows();
};

class NonAutoregressive : public SequenceModel {
  NonAutoregressiveConfig config_;

 public:
  explicit NonAutoregressive(const NonAutoregressiveConfig& config);

  Var encode(const Tensor& src);                            // (B, S, D)
  Var length_logits(const Var& memory, const Tensor& src);  // (B, 2 reach + 1); Predict only
  // All positions of outputs of these lengths: (B, max lengths, D), and if asked for each layer's
  // attention to the memory (B, H, T, S).
  DecoderOutput decode(const std::vector<Index>& lengths, const Var& memory, const Tensor& src,
                       bool need_attention = false);
  Var generate(const Var& hidden) { return generator(hidden); }  // (..., V)

  // Logits of the target's positions; the auxiliary loss is the length's, where it is predicted.
  TeacherForced teach(const SourceBatch& source, const Tensor& tgt_in,
                      const TeachOptions& options = {}) override;
  // Predict gives up to n_best hypotheses, one a length; Long gives one.
  std::vector<std::vector<Hypothesis>> generate_sequences(const SourceBatch& source,
                                                          const std::vector<Index>& limits,
                                                          const SearchOptions& options) override;
  const NonAutoregressiveConfig& config() const { return config_; }

  Child<Embedding> GLIM_NAMED(src_embed, config_.src_vocab, config_.d_model);
  Child<Encoder> GLIM_NAMED(encoder, config_.encoder_layers, config_,
                            config_.recompute != Recompute::None);
  Child<Decoder> GLIM_NAMED(decoder, config_.decoder_layers, config_,
                            config_.recompute == Recompute::All);
  Child<Linear> GLIM_NAMED(generator, config_.d_model, config_.tgt_vocab);
  Child<PositionalEncoding> GLIM_NAMED(src_positions, config_.positions, config_.d_model,
                                       config_.dropout, config_.max_len, config_.position_base);
  Child<PositionalEncoding> GLIM_NAMED(tgt_positions, config_.positions, config_.d_model,
                                       config_.dropout, config_.max_len, config_.position_base);
  Child<std::unique_ptr<Linear>> length_predictor;  // with Predict

 private:
  // There is none: StateError.
  std::unique_ptr<StepDecoder> new_decoder(const SourceBatch& source) override;
  struct Candidate {
    Index length;
    double log_prob;  // the length's
  };
  Var length_loss(const Var& memory, const Tensor& src, const std::vector<Index>& src_lengths,
                  const std::vector<Index>& tgt_lengths);
  Index long_length(Index source_length) const;
  std::vector<std::vector<Candidate>> candidates(const Var& memory, const Tensor& src,
                                                 const std::vector<Index>& limits, int count);
  Hypothesis read(const Tensor& log_probs, const Candidate& candidate, Index limit,
                  const SearchOptions& options) const;
};

// w of the soft copy: (B, max target, S), zero outside the sentences' own lengths. A source of no
// tokens gives zeros. ValueError for τ <= 0.
Tensor soft_copy_weights(const std::vector<Index>& source_lengths,
                         const std::vector<Index>& target_lengths, Index columns, double sharpness,
                         DType dtype);

}  // namespace glim
