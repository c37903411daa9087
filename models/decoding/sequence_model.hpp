// Every model from a source sequence to a target sequence can, whatever it is inside,
// learn from pairs by teacher forcing, and continue prefixes for search.
//
//   teach     source (B, S), tgt_in (B, T) = <s> y  ->  logits (B, T, V) of y </s>
//   decoder   one prefix a row, one token a step (models/decoding/decoding.hpp)
//
// A model that copies words of the source has V + extra output columns. SourceBatch::copy_ids says
// which column each source token is; columns from V on are words of this batch that the target
// vocabulary lacks.
#pragma once

#include <memory>
#include <vector>

#include "models/decoding/decoding.hpp"
#include "models/row.hpp"
#include "nn/linear.hpp"

namespace glim {

// The sources of a batch, right-padded.
struct SourceBatch {
  SourceBatch(Tensor source_ids) : ids(std::move(source_ids)) {}
  Tensor ids;       // (B, S) int64
  Tensor copy_ids;  // (B, S) int64: the output column of each source token; undefined: none
  Index extra = 0;  // output columns beyond the target vocabulary
};

struct TeachOptions {
  bool need_attention = false;
  bool defer_logits = false;  // a model whose last step is a linear layer may leave it to the loss
  double sampling = 0;        // scheduled sampling: share of tgt_in replaced by the model's tokens
};

struct TeacherForced {
  Var logits;  // (B, T, V + extra); log-probabilities are logits, too
  Var hidden;  // when deferred: logits = head(hidden), hidden (B, T, D)
  const Linear* head = nullptr;
  std::vector<Var> attention;  // to the source, (B, H, T, S) or (B, T, S) each; when asked for
  Var auxiliary;               // a further loss, summed over the batch; may be undefined

  // Sets logits = layer(x), or leaves them to the loss.
  void set_logits(Linear& layer, const Var& x, bool defer) {
    (defer ? hidden : logits) = defer ? x : layer(x);
    if (defer) head = &layer;
  }
};

class SequenceModel : public Module {
 public:
  virtual bool attends() const { return true; }  // to the source
  virtual TeacherForced teach(const SourceBatch& source, const Tensor& tgt_in,
                              const TeachOptions& options = {}) = 0;

  // A decoder for search over these sources. The definition of decoding is that teach() reads the
  // source and the whole prefix at each step; a decoder keeps what steps share, and must give the same
  // probabilities. The model must outlive it and be in eval() (StateError).
  std::unique_ptr<StepDecoder> decoder_for(const SourceBatch& source);

  // Output sequences of the sources, best first; by search over decoder_for, unless the model has
  // its own search. Errors are the same as of search.
  virtual std::vector<std::vector<Hypothesis>> generate_sequences(const SourceBatch& source,
                                                                  const std::vector<Index>& limits,
                                                                  const SearchOptions& options);

  Index max_len() const { return max_len_; }  // longest sequence, <s> or </s> included
  Index pad() const { return pad_; }
  Index src_vocab() const { return src_vocab_; }
  Index tgt_vocab() const { return tgt_vocab_; }
  const std::string& sizes() const { return sizes_; }  // JSON, as a file has them
  // True if the model copies words of the source: then it needs SourceBatch::copy_ids.
  bool copies() const { return copies_; }

 protected:
  // `name` is the one in its errors.
  template <class Config>
  SequenceModel(std::string name, const Config& c)
      : name_(std::move(name)),
        max_len_(c.max_len),
        pad_(c.pad),
        src_vocab_(c.src_vocab),
        tgt_vocab_(c.tgt_vocab),
        sizes_(to_json(c)) {
    if constexpr (requires { c.copy; }) copies_ = c.copy;
  }
  void require_eval() const;  // StateError

 private:
  virtual std::unique_ptr<StepDecoder> new_decoder(const SourceBatch& source) = 0;
  std::string name_;
  Index max_len_, pad_, src_vocab_, tgt_vocab_;
  std::string sizes_;
  bool copies_ = false;
};
}  // namespace glim
