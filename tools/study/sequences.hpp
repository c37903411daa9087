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

// A random grammar's sequences: a token is followed by one of four, the first of them half the time. Tokens are drawn for
// the grammar as often as words are in a text, p(t) ∝ 1/(t + 2), or `uniform`. `targets` are one token ahead of `ids`.
struct Successions {
  Tensor ids, targets;  // (count, length)
};
Successions successions(Index vocab, Index count, Index length, RandomKey key,
                        std::uint64_t grammar, bool uniform = false);

// 2 + 2 pre-norm layers, d 32, 4 heads, d_ff 64, no dropout, embeddings as large as positions.
TransformerConfig symbol_transformer();

// Called five times in a training, to measure a curve.
using AtFifths = std::function<void(double step)>;
// Steps of Adam (0.9, 0.98) at this peak rate, a tenth of them warm-up, then a cosine; gradients of norm 1 at most.
void train(Module& model, Index steps, double rate, const std::function<Var(Index step)>& loss,
           const AtFifths& at_fifths = {}, Backward how = {});
// The share of rows of logits (N, classes) whose largest is the class.
double accuracy_of(const Var& logits, const Tensor& classes);
// The mean cross-entropy of a batch, padding apart.
Var pair_loss(SequenceModel& model, const Batch& batch, double sampling = 0);
// On fresh batches of 32 pairs of 1 to `longest` symbols, at rate 3e-3. Scheduled sampling grows linearly to `sampling`.
void train_on(SequenceModel& model, SymbolTask task, Index longest, Index steps,
              const AtFifths& at_fifths = {}, double sampling = 0);

// The share of target tokens that greedy outputs get right, at their place.
double token_accuracy(SequenceModel& model, const std::vector<TokenPair>& pairs);
// Mean cross-entropy per token, </s> included.
double nll_of(SequenceModel& model, const std::vector<TokenPair>& pairs);

}  // namespace glim
