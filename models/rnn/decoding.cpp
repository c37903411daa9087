// The recurrent model's decoder for search: states and projected keys are kept, each step computes
// one position.
#include "models/rnn/seq2seq_rnn.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"

namespace glim {
namespace {

class CachedRnnDecoder final : public StepDecoder {
 public:
  CachedRnnDecoder(Seq2SeqRnn& model, Seq2SeqRnn::Encoded source)
      : model_(model), source_(std::move(source)) {
    for (Index i = 0; i < source_.keep.size(0); ++i) sentence_.push_back(i);
  }

  Tensor step(const std::vector<Index>& tokens) override {
    NoGrad no_tape;
    Tensor ids = from_vector(tokens, {static_cast<Index>(tokens.size())});
    Seq2SeqRnn::Readout read = model_.step(model_.embed_target(ids), source_, source_.states);
    if (read.attention.defined()) attention_ = read.attention.value();
    return model_.answer(read, source_.source).value();
  }

  void select_rows(const std::vector<Index>& rows) override {
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    auto pick = [&](Var& v) { v = Var(index_select(v.value(), 0, picked)); };
    for (Var& state : source_.states) pick(state);
    std::vector<Index> sentence;
    for (Index r : rows) sentence.push_back(sentence_[r]);
    if (sentence == sentence_) return;  // a beam's rows share their sentence's memory
    sentence_ = std::move(sentence);
    pick(source_.memory);
    pick(source_.keys);
    source_.keep = index_select(source_.keep, 0, picked);
    Tensor& copies = source_.source.copy_ids;
    if (copies.defined()) copies = index_select(copies, 0, picked);
  }

  Tensor attention() const override { return attention_; }

 private:
  Seq2SeqRnn& model_;
  Seq2SeqRnn::Encoded source_;
  std::vector<Index> sentence_;  // each row's sentence
  Tensor attention_;
};

}  // namespace

std::unique_ptr<StepDecoder> Seq2SeqRnn::new_decoder(const SourceBatch& source) {
  NoGrad no_tape;
  return std::make_unique<CachedRnnDecoder>(*this, encode(source));
}

}  // namespace glim
