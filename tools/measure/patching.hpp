// The loss of a pass if a value x had been another one, y = x + d.
//
//   change   L(y) - L(x)         the ops behind x run again, exactly: with the bits of a pass in which x has the value y
//   linear   dᵀ ∂L/∂x            what gradient-based attribution says: attribution patching
//   second   ½ dᵀ H d            H = ∂²L/∂x²; by one product with the Hessian, L changes by linear + second + O(d³)
//
// Where the second-order term is not small beside the linear one the loss is not linear on the way from x to y, and
// the linear estimate misleads: `misleads()`. Activation patching: Vig et al. 2020; its linear estimate: Nanda 2023.
//
// Errors: StateError for a region that was recomputed, which has no ops to run again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim {

struct PatchEffect {
  double change = 0, linear = 0, second = 0;
  bool misleads() const;  // |second| > |linear| / 2
};

// The loss with another value of the node, recorded on the tape that is open, if any.
Var loss_with(const Pass& pass, int node, const Var& value);
// The effects of each value in place of the node's; the gradient is recorded once for all.
std::vector<PatchEffect> patch_effects(const Pass& pass, int node,
                                       const std::vector<Tensor>& values);

// The context of each attention: probabilities times values, by the node of its softmax; -1 for another reader.
int context_of(const Pass& pass, int probs);
// The effects of each head's context being 0.
std::vector<PatchEffect> without_heads(const Pass& pass, int probs);

// One node, or one head of it, with its value of another pass.
struct PatchRow {
  std::string node;                    // "layers.0.self_attn.context:2"
  Index length = 0, other_length = 0;  // of the node, here and there: what both have is patched
  PatchEffect all;                     // at all positions
  std::vector<PatchEffect> positions;  // at one, in order: the second axis from the end
};
struct PatchTable {
  double loss = 0;
  std::vector<PatchRow> rows;
};
// Names are those of node_names.hpp, patterns among them. An axis on which the passes have different extents is patched
// from its beginning up to the smaller one. ValueError for an unknown name, and for a node that the other pass does not
// have or that has no positions.
PatchTable patched_from(const Pass& pass, const Pass& other, const std::vector<std::string>& names);

nlohmann::json in_json(const PatchEffect& effect);
nlohmann::json in_json(const PatchTable& table);
// `tokens` are those of the positions, or none.
std::string patch_text(const PatchTable& table, const std::vector<std::string>& tokens = {});

}  // namespace glim
