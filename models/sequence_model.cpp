#include "models/sequence_model.hpp"

namespace glim {

std::vector<std::vector<Hypothesis>> SequenceModel::generate_sequences(
    const SourceBatch& source, const std::vector<Index>& limits, const SearchOptions& options,
    bool cached) {
  auto decoder = decoder_for(source, cached);
  return search(*decoder, limits, options);
}

}  // namespace glim
