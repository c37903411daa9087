// One head's attention in three numbers. Row i of P has the probabilities p of one query over the n keys that
// it may attend to:
//
//   entropy      H = -Σ p ln p, nats: 0 for one key, ln n for all alike
//   saturation   the Jacobian of the softmax is J = diag(p) - p pᵀ, its trace Σ p (1 - p) = 1 - Σ p²,
//                at most 1 - 1/n:
//                  1 - mean(Σ p (1 - p) / (1 - 1/n))
//                0 when every row is uniform, 1 when every row is one-hot: then J = 0 and nothing
//                flows back to scores, queries and keys
//
//   distance     Σ p_j |i - j|, in places: 0 on the diagonal, small for a head that looks at neighbours. With
//                another sequence's keys i and j count each from its beginning
//
// Means are over queries. A query with no key to attend to is left out of all; one with a single
// key has no choice and is left out of the saturation.
#pragma once

#include <limits>
#include <vector>

#include "autograd/tape.hpp"

namespace glim {

// For a number that the data do not define.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct HeadStatistics {
  std::vector<double> row_entropy;  // of each query, NaN where it has no key
  double entropy = 0;               // mean of the rows; NaN without any
  double saturation = 0;            // NaN without a row of two keys or more
  double distance = 0;              // NaN without any
};

// probs (T, S) float; keep (T, S) bool, true = may attend, undefined: everywhere. ShapeError,
// DTypeError.
HeadStatistics head_statistics(const Tensor& probs, const Tensor& keep = {});

// The largest |S| of scores (T, S) over the pairs that may attend; NaN without any. Attention logits grow without
// bound when a rate is too high (Wortsman et al. 2023, arXiv 2309.14322, 3.1).
double largest_score(const Tensor& scores, const Tensor& keep);

// True if the node is an attention's softmax: its module calls it "probs".
bool is_attention(std::string_view op, std::string_view label);
// Which keys each query of such a node may attend to, (T, S) bool. `run` applies the op to other scores (Replay::run).
// Equal scores give the others a probability of 0.
Tensor keep_of(const Tensor& probs, const RunAgain& run);
// Recurrent models name their steps: "encoder.l0.t3" is a step of "encoder.l0", "t3.attention" of
// "attention". The scope itself if it names none.
std::string without_step(const std::string& scope);

}  // namespace glim
