// Search for an output sequence, one token at a time, with any model that can continue prefixes.
//
//   greedy       the likeliest token at each step, until END is the likeliest
//   beam search  the K best prefixes at each step. Each may also end there, whatever the rank of END. A hypothesis
//                that ended is compared by its score = log P(y|x) / lp(|y|), lp(m) = ((5 + m)/6)^α, where |y| counts
//                END (Wu et al. 2016, eq. 14)
//
// Log-probabilities only fall, so an open prefix of n tokens with log P = s can still reach at best
// max(s/lp(n+1), s/lp(limit)). Search continues until no open prefix can beat the n_best
// finished ones: a hypothesis that ended early never stops a better one.
//
// Ties go to the better prefix, then the lower token; greedy search prefers END. Results do not depend on threads.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

// The log-probability, or logit, of a token that cannot come.
inline constexpr double kNever = -std::numeric_limits<double>::infinity();

// A batch of prefixes that a model can continue. Rows are prefixes; they start with one row for each
// sentence, all at the beginning-of-sentence token.
class StepDecoder {
 public:
  virtual ~StepDecoder() = default;
  // Logits of the next token, (rows, V), after `tokens[i]` is appended to row i: the softmax of a row
  // is P(next token | prefix).
  virtual Tensor step(const std::vector<Index>& tokens) = 0;
  // Row i becomes a copy of row rows[i] (their number may change).
  virtual void select_rows(const std::vector<Index>& rows) = 0;
  // Attention of the last step over source positions, (rows, S); undefined if there is none, or
  // after keep_attention(false), which spares a decoder the work.
  virtual Tensor attention() const { return {}; }
  virtual void keep_attention(bool) {}
};

struct SearchOptions {
  Index bos = 1, eos = 2;
  std::vector<Index> never = {0, 1};  // tokens that are never generated: padding, beginning
  int beam = 1;                       // 1: greedy
  int n_best = 1;                     // hypotheses returned, best first; at most beam
  double length_penalty = 0;          // α; 0 compares plain log-probabilities
  bool keep_attention = false;
  // Finished hypotheses rank before those cut at the limit, which are often repetitions. False compares all by their
  // score: for a limit that is short on purpose.
  bool ended_first = true;
};

struct Hypothesis {
  std::vector<Index> tokens;                   // without beginning and END
  double log_prob = 0;                         // with END's
  double score = 0;                            // log_prob / lp
  bool finished = false;                       // false: cut at the limit
  std::vector<std::vector<double>> attention;  // by token, END included: over source positions
};

// One list of hypotheses for each sentence; limits[i] is the longest output of sentence i, END included.
// ValueError for a beam outside 1 to 1000, n_best outside 1 to the beam, a limit below 1, an infinite length penalty.
std::vector<std::vector<Hypothesis>> search(StepDecoder& decoder, const std::vector<Index>& limits,
                                            const SearchOptions& options);

// The errors of search, for a model that has its own search.
void check_search(const std::vector<Index>& limits, const SearchOptions& options);

double length_penalty(Index length, double alpha);

}  // namespace glim
