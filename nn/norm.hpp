// The norm of a layer, by name: layer norm (Ba et al. 2016), RMSNorm (Zhang & Sennrich 2019), which only scales, or none.
#pragma once

#include <memory>

#include "nn/choice.hpp"
#include "nn/layer_norm.hpp"
#include "nn/rms_norm.hpp"

namespace glim {

enum class NormKind { Layer, Rms, None };
template <>
inline const ChoiceNames<NormKind> kNames<NormKind>{
    {{"layer", NormKind::Layer}, {"rms", NormKind::Rms}, {"none", NormKind::None}}};

// Over the last axis; null for None. `bias`: of layer norm.
inline std::unique_ptr<Layer> new_norm(NormKind kind, Index d, double eps, bool bias) {
  if (kind == NormKind::None) return nullptr;
  if (kind == NormKind::Rms) return std::make_unique<RMSNorm>(d, eps);
  return std::make_unique<LayerNorm>(d, eps, true, bias);
}

}  // namespace glim
