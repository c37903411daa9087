// Rows of the sizes that several models have (models/row.hpp), in the same words.
#pragma once

#include "models/pooling.hpp"
#include "models/row.hpp"
#include "nn/activation.hpp"
#include "nn/attention/positions.hpp"
#include "nn/residual.hpp"

namespace glim::size_rows {

inline Row layers(Index& n, const char* name = "layers") {
  return {name, &n, "layers, of two sides the encoder's", kPositive, "layers"};
}
inline Row decoder_layers(Index& n) {
  return {"decoder_layers", &n, "decoder layers (0: as many as --layers)", kCount};
}
inline Row d_model(Index& d) { return {"d_model", &d, "width D", kPositive}; }
inline Row heads(Index& h) { return {"heads", &h, "attention heads H; must divide D", kPositive}; }
inline Row d_ff(Index& d) { return {"d_ff", &d, "width of the feed-forward layers", kPositive}; }
inline Row dropout(double& p) {
  return {.name = "dropout",
          .field = &p,
          .help = "dropout probability",
          .range = kShare,
          .from_start = FromStart::Default};
}
inline Row norm(NormPlacement& n) {
  return {"norm", choice(n), "norms before or after each sublayer"};
}
inline Row activation(Activation& f, std::vector<Activation> allowed = {}) {
  return {"activation", choice(f, std::move(allowed)), "activation of the feed-forward layers"};
}
// Positions that are added to embeddings; attention has others besides.
inline const std::vector<Positions> kAdded = {Positions::Sinusoidal, Positions::Learned,
                                              Positions::None};
inline Row positions(Positions& p, std::vector<Positions> allowed = {}) {
  return {"positions", choice(p, std::move(allowed)), "how a model knows a token's position"};
}
inline Row position_base(double& base) {
  return {"position_base", &base, "base of --positions sinusoidal", kAboveZero};
}
inline Row share_qk(bool& share) {
  return {"share_qk", &share, "one projection for the queries and the keys of an attention"};
}
inline Row norm_kind(NormKind& kind) {
  return {"norm_kind", choice(kind), "layer norms, RMS norms, which only scale, or no norms"};
}
inline Row attention_scale(double& scale) {
  return {"attention_scale", &scale, "factor of Q Kᵀ in the scores (0: 1/√Dh)", kNotNegative};
}
inline Row init(double& deviation) {
  return {"init", &deviation, "deviation of the initial weights", kAboveZero};
}
inline Row pooling(Pooling& p) {
  return {"pooling", choice(p), "the vector of the whole: the first token's or the mean"};
}
inline Row kernel(Index& k) {
  return {"kernel", &k,
          "positions that a layer of a convolutional model sees, of images along each side",
          kPositive};
}
inline Row copy(bool& copies) {
  return {"copy", &copies, "copy words of the source: a pointer mixed with the generator"};
}

}  // namespace glim::size_rows
