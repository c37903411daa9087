// The parts of a Transformer as a paper writes them, one head at a time and without the batch's axis:
//
//   Q_h = X W_Q^h                    dW_Q^h = Xᵀ dQ_h
//   S_h = Q_h K_hᵀ / √Dh             dQ_h = dS_h K_h / √Dh,  dK_h = dS_hᵀ Q_h / √Dh
//   A_h = softmax(S_h)               dS_h = A_h ⊙ (dA_h - Σ_-1(dA_h ⊙ A_h))          Vaswani et al. 2017, 3.2
//
// Attentions, feed-forward networks and norms are found by their ops, and by the names that Glim gives to queries, keys,
// scores and probabilities. No name of a module counts, so that PyTorch models get the same lines. A table of signs
// says which node or part of a parameter each letter is.
#pragma once

#include "tools/derive/sheet.hpp"

namespace glim::derive {

// The parts in a module, or in all; equal ones once. The pass is explicit, or attention has no nodes to read. ValueError
// for an unknown module, one without such parts, and a part with an op that these lines have no place for.
Sheet paper_of(const Pass& pass, const std::string& module);

}  // namespace glim::derive
