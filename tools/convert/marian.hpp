// Marian, as Hugging Face stores it, converted to Glim's form. The model says
// the same: only the order of its numbers changes.
//
//   tokens      </s>, <unk> and <pad> have other ids, and a target begins with <pad>. Glim's <s> is a second row
//               of the token that begins one, with probability 0 where that is another token, too.
//   positions   are two halves, sines and then cosines: column i goes to 2i, column D/2 + i to 2i + 1, in every
//               weight that reads or writes the residual stream.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"
#include "tools/convert/settings.hpp"

namespace glim {

// The id in the file of each of Glim's tokens: the four special ones first.
std::vector<Index> marian_ids(const Settings& settings, Index vocab, Index unk);
// `weights` by our names, of a model whose embeddings and generator are in order; `scaled`: it multiplies embeddings by
// the root of the width, as Glim does, which else divides the tables by it.
void from_marian(StateDict& weights, const std::vector<Index>& ids, bool scaled);

}  // namespace glim
