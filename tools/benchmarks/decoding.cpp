#include <memory>

#include "tools/benchmarks/measures.hpp"

namespace glim::bench {

Work decoding(const Setting& s, Index batch, int beam) {
  seed(1);
  auto model = std::make_shared<Transformer>(transformer_config(s, 0));
  model->eval();
  Tensor source = random_integers({batch, 32}, 3, s.vocab, {2, 0});
  SearchOptions options;
  options.beam = beam;
  options.never = {0, 1, 2};  // every output has 32 tokens
  std::vector<Index> limits(static_cast<std::size_t>(batch), 32);
  return [=] { model->generate_sequences(source, limits, options); };
}

}  // namespace glim::bench
