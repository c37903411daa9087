// The recurrent sequence-to-sequence model with attention, which the Transformer replaced
// (Bahdanau et al. 2015, arXiv 1409.0473; Luong et al. 2015, arXiv 1508.04025).
//
//   memory, final = encoder(embed(src))                     both directions: (B, S, 2 He)
//   state_0 = tanh(bridge [final →; final ←])               (layers, B, D); an LSTM's c without tanh
//
//   additive attention (Bahdanau): the context is an input of the step
//     context_t = attention(state_{t-1}, memory)            state_t = cell([embed(y_t); context_t])
//   dot, general, concat (Luong): the context follows the step
//     state_t = cell(embed(y_t))                            context_t = attention(state_t, memory)
//
//   logits_t = generator [state_t; context_t; embed(y_t)]   (B, T, V)
//
//   none (Sutskever et al. 2014, Cho et al. 2014): the memory is one vector, whatever the length
//     context_t = [final →; final ←] of the last layer    state_t = cell([embed(y_t); context_t])
//
// He = D, but D/2 with dot, whose keys and queries must have the same size. Dropout falls on both
// embeddings and between layers. Padding never reaches an encoder state, and no attention goes
// there: sources are right-padded, their length is that of their last token that is not padding.
//
// Work that does not depend on the step before runs for all steps in one product: the inputs' part of
// the gates, the generator, and with Luong's scores the attention.
//
// With `copy` the output is a mixture with the source's words, log-probabilities of V + extra, p_gen
// from context, state and embedding (nn/attention/pointer_generator.hpp); a copied word is read back as `unk`.
//
// Scheduled sampling (Bengio et al. 2015, arXiv 1506.03099): with TeachOptions::sampling p each
// token of tgt_in but the first is replaced, with probability p, by the model's own likeliest token
// of the step before, as a constant. Tokens that are padding stay.
//
// Errors: ValueError for sizes that make no model, a source without tokens, sampling outside
// [0, 1]; IndexError for ids outside a vocabulary; ShapeError for other ranks.
#pragma once

#include <memory>

#include "models/decoding/sequence_model.hpp"
#include "models/row.hpp"
#include "nn/attention/pointer_generator.hpp"
#include "nn/attention/scored.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/recurrent/rnn.hpp"

namespace glim {

struct Seq2SeqRnnConfig {
  Index src_vocab = 0, tgt_vocab = 0;
  Index d_embed = 256, d_model = 512;  // E, D: the decoder's hidden size
  Index layers = 1;                    // the encoder's, and as many of the decoder
  CellKind cell = CellKind::Gru;
  AttentionScore attention = AttentionScore::Additive;
  double dropout = 0.5;
  Index max_len = 5000;  // longest sequence for callers; nothing here depends on it
  Index pad = 0;
  bool copy = false;
  Index unk = 3;

  Rows rows();
};

class Seq2SeqRnn : public SequenceModel {
  Seq2SeqRnnConfig config_;  // first: the members below are built from it

 public:
  explicit Seq2SeqRnn(const Seq2SeqRnnConfig& config);
  bool attends() const override { return config_.attention != AttentionScore::None; }

  // The sources, as decoding reads them.
  struct Encoded {
    Var memory;               // (B, S, 2 He); without attention the last states (B, 1, 2 He)
    Var keys;                 // the attention's keys, computed once
    Tensor keep;              // (B, S)
    std::vector<Var> states;  // one a decoder layer, (B, D), an LSTM's (B, 2 D)
    SourceBatch source;       // the words to copy
  };
  Encoded encode(const SourceBatch& source);

  // The inputs of the logits: (B, ·) of one step, (B, T, ·) of all.
  struct Readout {
    Var hidden, context, embedded;
    Var attention;  // (B, S) or (B, T, S); undefined without attention
  };
  // One step, which reads embedded (B, E) and advances `states`.
  Readout step(const Var& embedded, const Encoded& source, std::vector<Var>& states);
  // Teacher forcing with tgt_in (B, T); sampling 0 reads it unchanged.
  Readout decode(const Tensor& tgt_in, const Encoded& source, double sampling = 0);
  Var generate(const Readout& read);  // (..., V)
  // The logits, or with `copy` the mixture: (..., V + extra).
  Var answer(const Readout& read, const SourceBatch& source);

  TeacherForced teach(const SourceBatch& source, const Tensor& tgt_in,
                      const TeachOptions& options = {}) override;
  const Seq2SeqRnnConfig& config() const { return config_; }
  // With dropout: (...) -> (..., E). A copied word is unk.
  Var embed_target(const Tensor& ids);

  Child<Embedding> src_embed, tgt_embed;
  Child<Recurrent> encoder;
  Child<ModuleList<Linear>> bridge;                   // for each decoder layer: h, and an LSTM's c
  Child<std::unique_ptr<ScoredAttention>> attention;  // unless config.attention is None
  Child<Recurrent> decoder;
  Child<Linear> generator;
  Child<Dropout> dropout;
  Child<std::unique_ptr<PointerGenerator>> copy;  // with config.copy

 private:
  std::unique_ptr<StepDecoder> new_decoder(const SourceBatch& source) override;
  // True if the context is an input of the step.
  bool reads_context() const { return !attention || config_.attention == AttentionScore::Additive; }
  // h (part 0) or an LSTM's c (part 1) of a layer's two directions side by side: (B, 2 He).
  Var last_state(const Var& final, Index layer, Index part) const;
  std::vector<Var> initial_states(const Var& final);
  Var input_gates(const Var& embedded);
  Readout advance(Var gates, const Encoded& source, std::vector<Var>& states);
  Readout decode_at_once(const Var& embedded, const Encoded& source);
  // tgt_in's tokens of step t, some of them replaced by the likeliest of what `before` gives.
  Tensor sampled_tokens(const Tensor& tgt_in, Index t, const Tensor& sampled, const Readout& before,
                        const SourceBatch& source);
};

}  // namespace glim
