// Configurations of small models, for gradient checks and tests. None has dropout.
#pragma once

#include "tensor/shape.hpp"

namespace glim {

// Sizes that models of attention share: `layers` on each side; `vocab` tokens in both languages, or classes of an
// image.
template <class Config>
Config sized(Index vocab, Index d_model, Index heads, Index d_ff, Index layers) {
  Config c;
  if constexpr (requires { c.src_vocab; })
    c.src_vocab = c.tgt_vocab = vocab;
  else if constexpr (requires { c.vocab; })
    c.vocab = vocab;
  else
    c.classes = vocab;
  if constexpr (requires { c.encoder_layers; })
    c.encoder_layers = c.decoder_layers = layers;
  else
    c.layers = layers;
  c.d_model = d_model, c.heads = heads, c.d_ff = d_ff;
  c.dropout = 0;
  return c;
}

template <class Config>
Config sized_recurrent(Index src_vocab, Index tgt_vocab, Index d_embed, Index d_model) {
  Config c{.src_vocab = src_vocab, .tgt_vocab = tgt_vocab, .d_embed = d_embed, .d_model = d_model};
  c.dropout = 0;
  return c;
}

// Two layers on each side.
template <class Config>
Config sized_convolution(Index src_vocab, Index tgt_vocab, Index d_model, Index kernel) {
  Config c{.src_vocab = src_vocab, .tgt_vocab = tgt_vocab, .d_model = d_model, .kernel = kernel};
  c.encoder_layers = c.decoder_layers = 2;
  c.dropout = 0;
  return c;
}

}  // namespace glim
