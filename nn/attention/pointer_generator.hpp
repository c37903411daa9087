// Copying words of the source: a pointer mixed with a generator (See et al. 2017, "Get to the
// point", equations 8 and 9; Gu et al. 2016).
//
//   p_gen  = sigmoid(w · [h ; s ; x] + b)                        (B, T, 1)
//   P(w)   = p_gen softmax(logits)_w + (1 - p_gen) Σ_{i: copy_ids_i = w} a_i
//   y_w    = ln(P(w) + 1e-12)                                    (B, T, V + extra)
//
//   logits (B, T, V)   attention a (B, T, S), each row summing to 1   copy_ids (B, S) int64
//   context h = Σ_i a_i memory_i (B, T, M)   state s (B, T, D)   input x (B, T, X), the embedding
//
// copy_ids says which output each source token is. Ids below V are words of the target
// vocabulary, which can be both generated and copied; ids from V on are the sentence's own words
// that the vocabulary lacks, which can only be copied. The same number may mean different words in
// two sentences of a batch. P is 0 in columns that a sentence does not use.
//
// The floor keeps the logarithm of an impossible word finite, and with it the loss of a target that
// can be neither said nor copied. y is a logit, too: softmax(y) = P up to the floor.
//
// Errors: ShapeError naming the operand; IndexError for a copy_id outside [0, V + extra); ValueError
// where there are no copy_ids.
#pragma once

#include "nn/linear.hpp"

namespace glim {

// The mixture alone, p_gen (B, T, 1) in [0, 1].
Var copy_mixture(const Var& logits, const Var& p_gen, const Var& attention, const Tensor& copy_ids,
                 Index extra);

class PointerGenerator : public Callable<PointerGenerator> {
 public:
  // Columns of context, state and input.
  PointerGenerator(Index context, Index state, Index input);

  Child<Linear> p_gen;  // weight (1, M + D + X)

  // y as above, of all positions (B, T, ·) or of one (B, ·).
  Var forward(const Var& logits, const Var& attention, const Var& context, const Var& state,
              const Var& input, const Tensor& copy_ids, Index extra);
};

// Tokens as the target embedding knows them: those from V on become `unknown`.
Tensor embeddable(const Tensor& ids, Index vocabulary, Index unknown);

}  // namespace glim
