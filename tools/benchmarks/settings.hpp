// The sizes at which training steps and decoding are measured.
#pragma once

#include <string>
#include <vector>

#include "models/transformer/transformer.hpp"

namespace glim::bench {

// Encoder and decoder of `layers` each; gpt-char has no source (source 0): nanoGPT's recipe for a
// CPU, a decoder alone.
struct Setting {
  std::string name;
  Index vocab, d, heads, d_ff, layers, batch, source, target;
  bool decoder_only() const { return source == 0; }
};
const std::vector<Setting>& settings();
// By its name, or from a JSON object as settings_json writes it. ValueError.
Setting setting(const std::string& name);
std::string settings_json();

// Floating-point operations of the matrix products of one training step: two per multiplication
// and addition, backward counted as twice forward. Element-wise work is not counted. Scores
// that a causal mask discards are counted.
double step_flops(const Setting& s);

TransformerConfig transformer_config(const Setting& s, double dropout = 0.1);

}  // namespace glim::bench
