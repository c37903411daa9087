#include "models/decoding/sequence_model.hpp"

namespace glim {

void SequenceModel::require_eval() const {
  if (training()) throw StateError(name_, "decoding needs eval(): dropout would make it random");
}

std::unique_ptr<StepDecoder> SequenceModel::decoder_for(const SourceBatch& source) {
  require_eval();
  return new_decoder(source);
}

std::vector<std::vector<Hypothesis>> SequenceModel::generate_sequences(
    const SourceBatch& source, const std::vector<Index>& limits, const SearchOptions& options) {
  auto decoder = decoder_for(source);
  return search(*decoder, limits, options);
}

}  // namespace glim
