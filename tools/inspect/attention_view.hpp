// Each attention of a pass, head by head: A = softmax(S), with masked entries 0, and the gradients
// of both.
//
//   ∂L/∂S = A ∘ (∂L/∂A - Σ_s A ∂L/∂A)      rows of ∂L/∂S add up to 0, masked entries are 0
//
// The gradient of a head's output goes two ways: to the value v, and through the probabilities to query and
// key. With the gradients of the head's query, key and value,
//
//   value share = ‖∂L/∂v‖² / (‖∂L/∂v‖² + ‖∂L/∂q‖² + ‖∂L/∂k‖²)
//
// The share of the gradient of A that the softmax passes on, over the cells that may be attended to,
//
//   passed = ‖∂L/∂S‖ / ‖∂L/∂A‖
//
// is at most 1/2 (no eigenvalue of diag(p) - p pᵀ is larger), about 1/n where n keys share A evenly, and 0 where the
// softmax is saturated. ‖∂L/∂S‖ alone says nothing of that: it grows with ∂L/∂A, and so with the loss.
//
// Entropy and saturation are those of attention_statistics.hpp.
#pragma once

#include <string>
#include <vector>

#include "tools/kinds/example.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/measure/patching.hpp"

namespace glim {

enum class AttentionSide { EncoderSelf, DecoderSelf, Cross };
std::string_view name_of(AttentionSide side);  // "encoder self", "decoder self", "cross"

struct HeadView : HeadStatistics {
  double scores_gradient = 0, probs_gradient = 0;  // ‖∂L/∂S‖ and ‖∂L/∂A‖ of this head
  double passed = 0;                               // NaN when ∂L/∂A is 0
  double query_norm = 0, key_norm = 0, value_norm = 0;  // of the gradients of q, k, v
  double value_share = 0;  // NaN when none of them is known, or all are 0
};

struct AttentionView {
  std::string module;  // "decoder.layers.2.multihead_attn"
  AttentionSide side;
  int layer = 0;                   // from 0, as in the names of modules
  std::vector<int> probs, scores;  // nodes
  Tensor a, da, s, ds;             // (H, T, S); gradients 0 where none arrived
  Tensor keep;                     // (T, S) bool: may attend
  // Tokens, T and S of them. A query of cross-attention is named by the token that is predicted there, as alignments are;
  // one of self-attention by the token that is read, as its keys are.
  std::vector<std::string> queries, keys;
  std::vector<HeadView> heads;
  std::vector<PatchEffect>
      without;  // of each head: the loss when its context is 0; empty: not measured
};

// All attentions of a pass, in the order of first use of their modules. Empty for a model without. Tokens are not in a
// pass: they are the text's, or numbers where it has none.
std::vector<AttentionView> attention_views(const Pass& pass, const ExampleText& text);

// Labels of the rows (all axes but the last) and columns of an attention's node: "head 0 My",
// and the key's token where its last axis is that of the keys. Empty for what has no such names.
struct AxisNames {
  std::vector<std::string> rows, columns;
};
AxisNames axis_names(const std::vector<AttentionView>& views, const PassNode& node);

}  // namespace glim
