// A value of a pass as an exact sum over its sources, the values that projections, norms and residual sums alone lead
// to it from:
//
//   wte, src_positions                  an embedding, or its positions, by module
//   layers.0.self_attn:2                the context of an earlier head
//   layers.0.gelu                       an earlier feed-forward network, by its nonlinear node
//   biases                              all bias vectors on the way
//
// Each op on the way is run again on the part of one source, in float64. A norm is linear in its input once its scale
// is the one that this pass recorded: (x - mean(x)) / σ.
//
// Two kinds of sources are sums of what they read, with coefficients of this pass. A head's context is Σ_m A_tm v_m. A
// feed-forward network's activation is g ⊙ x with its gate g: 0 or 1 of relu, Φ(x) of gelu, σ(x) of silu; where an
// activation multiplies another projection it is the gate of that one.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim {

// In the order of the pass, the biases last.
struct Source {
  int node;
  std::string name;
  Index head;
  bool operator<(const Source& s) const { return std::tie(node, head) < std::tie(s.node, s.head); }
};
using SourceParts = std::map<Source, Tensor>;

class Decomposition {
 public:
  explicit Decomposition(const Pass& pass);
  // The parts add up to the node's value.
  SourceParts of(int node) const;
  // True for a weight or another constant, as it is or reshaped; the projection of an image is none.
  bool fixed(int node) const { return node < 0 || fixed_[static_cast<std::size_t>(node)]; }
  // The operands whose parts the node's parts are made of; none for a source.
  std::vector<std::size_t> summands(int node) const;

  // ∂(Σ y·dy)/∂x for the value x of a source and the part y that it alone has in the node's value.
  Tensor gradient(int node, const Tensor& dy, int source) const;
  // True for an earlier head, and for a feed-forward network with a gate.
  bool splits(const Source& source) const;
  // Σ x·dx for the value x of such a source, by the sources of what it read: of a head, (S), one for each position that it
  // read; of a feed-forward network, one number.
  SourceParts products(const Source& source, const Tensor& dx) const;

 private:
  // The gate of an activation and which of its operands it multiplies; undefined for other nodes.
  std::pair<Tensor, std::size_t> gate_of(const PassNode& n) const;
  bool is_scale(int node) const;
  SourceParts from_operands(int node, const std::map<int, SourceParts>& known) const;
  SourceParts as_source(const PassNode& n) const;
  const Pass& pass_;
  std::vector<bool> fixed_;
};

// The node's op in float64, with some of its operands replaced.
Tensor run_with(const PassNode& n, const std::map<std::size_t, Tensor>& replaced);
// float64, where x has floats.
Tensor in_float64(const Tensor& x);

}  // namespace glim
