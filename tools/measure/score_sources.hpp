// Why a query attends to a key: the score as an exact sum over where the query and the key come from.
//
//   S_ij = α q_i·k_j + β_ij        β: a bias of positions, α: 1/√Dh
//   q_i = Σ_a q_i^a,  k_j = Σ_b k_j^b       a, b: sources
//   S_ij - mean_j S_ij = Σ_a Σ_b α q_i^a·(k_j^b - mean_j k_j^b) + (β_ij - mean_j β_ij)
//
// The mean is over the keys that query i may attend to: the softmax sees differences alone. source_parts.hpp says what
// the sources are. Rotary positions and grouped heads are linear. All sums are in float64; `gap` of a float32 pass
// shows the rounding of the pass itself.
//
// This is the decomposition of a bilinear form over the residual stream of Elhage et al. 2021, "A Mathematical Framework
// for Transformer Circuits", with the norms in it.
//
// A part whose source is an earlier head or a feed-forward network is split again, by what that one read: `split()`. Its
// coefficients are those of this pass, the head's probabilities or the network's gate, and the rows add up to the part.
//
// Errors: ValueError for a pass without attention, for an unknown head or cell, for a score that is no scaled product of
// query and key, and for a batch.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/measure/source_parts.hpp"
#include "tools/pass/pass.hpp"

namespace glim {

struct ScoreParts {
  std::string module;  // "decoder.layers.1.self_attn"
  Index head = 0, query = 0, key = 0;
  Index keys = 0;                               // that the query may attend to
  double score = 0, mean = 0, probability = 0;  // S_ij, mean_j S_ij, A_ij
  double gradient = 0;                          // ∂L/∂S_ij; 0 where none arrived
  double largest_gradient = 0;                  // of the head, by size
  std::vector<std::string> query_sources, key_sources;
  std::vector<std::vector<double>> parts;  // by query source and key source
  double bias = 0;                         // β_ij - mean_j β_ij
  // The largest difference between a score of the row, or S_ij - mean_j S_ij, and the sum of its parts.
  double gap = 0;
};

// One of the two sources of a part, by what it read.
struct SourceSplit {
  struct Row {
    double part;
    Index position;  // that the head read; -1: a feed-forward network reads its own
    std::string source;
  };
  bool is_query = true;  // the source of the query, or else that of the key
  std::string source;
  std::vector<Row> rows;  // from the largest size on
  double gap = 0;         // between the part and the sum of its rows
};
struct SplitPart {
  double part = 0;
  std::string query_source, key_source;
  std::vector<SourceSplit> splits;  // one or two
};

// One attention of a pass, all heads and cells.
class ScoreSources {
 public:
  // `probs`: the node of the softmax.
  ScoreSources(const Pass& pass, int probs);
  ScoreParts cell(Index head, Index query, Index key) const;
  // The cells of a query, by key; one that it may not attend to has no parts.
  std::vector<ScoreParts> row(Index head, Index query) const;
  // The part of these two sources, by name or the end of one, split again. ValueError for an unknown source, and where
  // neither is an earlier head or a feed-forward network with a gate.
  SplitPart split(Index head, Index query, Index key, const std::string& query_source,
                  const std::string& key_source) const;
  Index heads() const { return scores_.size(0); }
  Index queries() const { return scores_.size(1); }
  Index keys() const { return scores_.size(2); }
  bool may_attend(Index head, Index query, Index key) const;

 private:
  struct Side {
    int node;  // operand of the product
    std::vector<Source> sources;
    std::vector<std::string> names;
    Tensor parts;  // of A sources of queries (H, A, T, Dh), of B sources of keys (H, Dh, B, S)
  };
  const Pass& pass_;
  Decomposition values_;
  std::string module_;
  Shape product_;  // of Q Kᵀ
  Side query_, key_;
  Tensor scores_, factor_, bias_, probs_, gradient_, keep_;  // (H, T, S) but keep: (T, S)
};

// The softmax nodes of attention, in the order of the pass.
std::vector<int> attention_nodes(const Pass& pass);
// `head`: "MODULE:2", the end of one, or the number of the softmax's node, "#12:2".
ScoreParts score_parts(const Pass& pass, const std::string& head, Index query, Index key);
SplitPart split_part(const Pass& pass, const std::string& head, Index query, Index key,
                     const std::string& query_source, const std::string& key_source);

struct ScorePart {
  double part;
  std::string_view query, key;  // its sources, as names in the ScoreParts
};
// All parts, the bias among them, from the largest size on.
std::vector<ScorePart> largest_parts(const ScoreParts& parts);
nlohmann::json in_json(const ScoreParts& parts);
nlohmann::json in_json(const SplitPart& part);
// The largest parts, as a table. The words are those of the query and the key.
std::string score_text(const ScoreParts& parts, const std::string& query_word = "",
                       const std::string& key_word = "");
// `words(head)` are those of the positions that a head reads.
std::string split_text(
    const SplitPart& part,
    const std::function<std::vector<std::string>(const std::string&)>& words = {});

}  // namespace glim
