// The role of each module in its model. It follows from the module's type and from which member it is: a decoder
// layer's multihead_attn is the attention to the memory. No name of a module or parameter has a meaning.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/module.hpp"

namespace glim {

enum class Role {
  None,
  Source,           // embeds the encoder's tokens
  Target,           // embeds the decoder's tokens
  TargetPositions,  // and their positions
  Encoder,
  Decoder,
  Output,  // gives the probabilities of tokens
  Copy,    // or copies one
  Layer,   // of an encoder or decoder
  SelfAttention,
  CrossAttention,
  Reads,  // the first matrix of a feed-forward network: it reads the residual stream
  Adds,   // the last matrix of a sublayer: its output is added to the residual stream
};

class Roles {
 public:
  Roles() = default;
  explicit Roles(const Module& model);

  // The roles in a model whose types are not Glim's. A numbered module that is in no other one is a layer:
  // "encoder.layer.0" of "encoder.layer.0.attention".
  explicit Roles(const std::vector<std::string>& modules);

  bool knows_sides() const;                  // a module is an encoder or a decoder
  Role of(const std::string& module) const;  // of the module itself
  // True if the path is that of a module of this role, or in one.
  bool within(const std::string& path, Role role) const;
  // The layer that a path is in, "encoder.layers.0"; "" for none.
  std::string layer(const std::string& path) const;
  // The part of the module that a scope in it belongs to: "self_attn", "feed_forward", "layers.0".
  std::string part(const std::string& module, const std::string& scope) const;

 private:
  std::map<std::string, Role> paths_;  // of all modules
};

// 2 of "encoder.layers.2"; 0 of "".
int layer_number(const std::string& layer);

}  // namespace glim
