// The gradient of each weight matrix, read as tokens: the backward lens (Katz, Belinkov, Geva & Wolf 2024, "Backward
// Lens: Projecting Language Model Gradients into the Vocabulary Space", section 4).
//
// With y_t = W x_t at each position t and δ_t = ∂L/∂y_t, the gradient of the matrix is a sum of one product a position:
//
//   G = ∂L/∂W = Σ_t δ_t x_tᵀ                     (out, in)
//   share of t = <δ_t x_tᵀ, G> / ‖G‖²             the shares add up to 1
//
// A step W ← W - η G answers an input like x_t with more of -δ_t. Where x_t is a vector of the model's width, the lens
// says which tokens it is likest (x of queries, keys, values and of the first feed-forward matrix); where δ_t is, which
// tokens -δ_t asks for (attention's output, the second feed-forward matrix). "Likest" is the largest scalar product
// with a row of the embedding in the encoder, of the generator in the decoder. The generator's own δ has an element a
// token.
//
// `error` is ‖Σ_t δ_t x_tᵀ - G‖ / ‖G‖, G what backward sent to the matrix from this product (a tied matrix has others).
#pragma once

#include <string>
#include <vector>

#include "tools/kinds/example.hpp"

namespace glim {

struct LensToken {
  std::string token;
  double product = 0;  // the scalar product
};
struct LensTerm {
  std::string position;  // the token at t
  double share = 0, input_norm = 0, delta_norm = 0;
  std::vector<LensToken> input,
      delta;  // of x_t and -δ_t, the likest first; empty where they cannot be read
};
struct LensMatrix {
  std::string matrix;  // "encoder.layers.0.linear1.weight", "….in_proj_weight, query"
  double norm = 0, error = 0;
  std::vector<LensTerm> terms;  // the largest share first
};

// The matrices by which a pass multiplied the positions of a sentence, in the order of the pass. The tokenizers that
// name the rows of the embeddings are not in a pass: they are the example's.
std::vector<LensMatrix> backward_lens(const Pass& pass, const Example& example);

}  // namespace glim
