// The definition of decoding: teach() reads the source and the whole prefix at each step.
#pragma once

#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

class PrefixDecoder final : public StepDecoder {
 public:
  PrefixDecoder(SequenceModel& model, const SourceBatch& source)
      : model_(model), source_(source), prefixes_(source.ids.size(0)) {}

  Tensor step(const std::vector<Index>& tokens) override {
    NoGrad no_tape;
    std::vector<Index> ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      prefixes_[i].push_back(tokens[i]);
      ids.insert(ids.end(), prefixes_[i].begin(), prefixes_[i].end());
    }
    auto rows = static_cast<Index>(tokens.size());
    Tensor prefix = from_vector(ids, {rows, static_cast<Index>(ids.size()) / rows});
    TeachOptions options;
    options.need_attention = true;
    TeacherForced taught = model_.teach(source_, prefix, options);
    if (!taught.attention.empty()) {
      Tensor last = taught.attention.back().value();  // (B, T, S), or (B, H, T, S): mean of heads
      attention_ = select((last.rank() == 4 ? mean(last, {1}) : last), 1, -1);
    }
    return select(taught.logits.value(), 1, -1);
  }

  void select_rows(const std::vector<Index>& rows) override {
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    source_.ids = index_select(source_.ids, 0, picked);
    if (source_.copy_ids.defined()) source_.copy_ids = index_select(source_.copy_ids, 0, picked);
    std::vector<std::vector<Index>> next;
    for (Index r : rows) next.push_back(prefixes_[r]);
    prefixes_ = std::move(next);
  }

  Tensor attention() const override { return attention_; }

 private:
  SequenceModel& model_;
  SourceBatch source_;
  std::vector<std::vector<Index>> prefixes_;
  Tensor attention_;
};

inline std::vector<std::vector<Hypothesis>> search_prefixes(SequenceModel& model,
                                                            const SourceBatch& source,
                                                            const std::vector<Index>& limits,
                                                            const SearchOptions& options) {
  PrefixDecoder decoder(model, source);
  return search(decoder, limits, options);
}

}  // namespace glim
