// Keys that a module appends to its input keys, as torch's add_bias_kv and add_zero_attn do.
#pragma once

#include "autograd/ops.hpp"

namespace glim {

struct KeysAndMask {
  Var key, value;      // (B, H, S, Dh)
  AttentionMask mask;  // broadcasts to (B, H, T, S)
};

// One more key and value, which broadcast to (B, H, 1, Dh); every query may attend to it.
KeysAndMask appended(const KeysAndMask& all, const Var& key, const Var& value);

}  // namespace glim
