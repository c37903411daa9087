// The kind `transformer`: from options to sizes to a model, and back from a checkpoint.
#pragma once

#include <string>

#include "models/transformer/transformer.hpp"
#include "tools/train/learners/translation.hpp"

namespace glim {

SequenceKind transformer_kind();

TransformerConfig transformer_config(const TrainOptions& o, Index src_vocab, Index tgt_vocab);
std::string to_json(const TransformerConfig& config);
// FileError naming `where`.
TransformerConfig transformer_config_from_json(const std::string& text, const std::string& where);

// FileError unless `weights` has a tensor of this name and shape.
void require_tensor(const StateDict& weights, const std::string& name, const Shape& shape,
                    const std::string& file);

}  // namespace glim
