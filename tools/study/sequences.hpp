// Small models that learn tasks of random symbols from fresh batches, for studies that compare kinds of model.
//
//   copy      y_t = x_t
//   reverse   y_t = x_{n+1-t}
//   sum       y_t = y_{t-1} + x_t modulo the number of symbols: each step needs the one before
#pragma once

#include <functional>
#include <vector>

#include "models/tokenizers/vocabulary.hpp"
#include "models/transformer/transformer.hpp"
#include "tensor/random.hpp"
#include "tools/data/corpus/batches.hpp"

namespace glim {

enum class SymbolTask { Copy, Reverse, Sum };
inline constexpr Index kSymbols = 10, kSymbolVocabulary = kSpecialTokens + kSymbols;
// The streams of held-out pairs, which no training draws from.
inline constexpr std::uint64_t kHeldOut = std::uint64_t{1} << 62;

// `count` pairs, lengths uniform in [shortest, longest]. Symbol s is token kSpecialTokens + s.
std::vector<TokenPair> symbol_pairs(SymbolTask task, Index shortest, Index longest, Index count,
                                    RandomKey key);
Batch batch_of(const std::vector<TokenPair>& pairs);

// 2 + 2 pre-norm layers, d 32, 4 heads, d_ff 64, no dropout, embeddings as large as positions.
TransformerConfig symbol_transformer();

// Steps of Adam (0.9, 0.98) at this peak rate, a tenth of them warm-up, then a cosine; gradients of norm 1 at most.
void train(Module& model, Index steps, double rate, const std::function<Var(Index step)>& loss,
           Backward how = {});
// The mean cross-entropy of a batch, padding apart.
Var pair_loss(SequenceModel& model, const Batch& batch, double sampling = 0);
// On fresh batches of 32 pairs.
void train_on(SequenceModel& model, SymbolTask task, Index shortest, Index longest, Index steps,
              double rate = 3e-3);

// The greedy outputs, cut at the length of each target.
std::vector<std::vector<Index>> greedy(SequenceModel& model, const std::vector<TokenPair>& pairs);
// The share of target tokens that are right, at their place.
double token_accuracy(SequenceModel& model, const std::vector<TokenPair>& pairs);
// Mean cross-entropy per token, </s> included.
double nll_of(SequenceModel& model, const std::vector<TokenPair>& pairs);

}  // namespace glim
