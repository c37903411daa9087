// Residual connection around a sublayer f (He et al. 2016), with the norm before or after:
//
//   Pre    y = x + Dropout(f(N(x)))      Xiong et al. 2020; a final norm follows the last layer
//   Post   y = N(x + Dropout(f(x)))      Vaswani et al. 2017, section 3.1
//
// Without a norm (null), both are y = x + Dropout(f(x)). With Pre, dy reaches every layer unchanged through the sum
// (AddDropout in autograd/ops/dropout.cpp).
//
// Norm and dropout belong to the layer (torch's norm1 and dropout1, norm2 and dropout2, ...).
// f maps a Var to a Var of x's shape; ShapeError from the addition otherwise. An observer sees the three parts, and may
// put something in their place (module_output in autograd/tape.hpp).
#pragma once

#include "nn/choice.hpp"
#include "nn/dropout.hpp"
#include "nn/norm.hpp"

namespace glim {

enum class NormPlacement { Pre, Post };
template <>
inline const ChoiceNames<NormPlacement> kNames<NormPlacement>{
    {{"pre", NormPlacement::Pre}, {"post", NormPlacement::Post}}};

template <class F>
Var residual(NormPlacement placement, const Var& x, Layer* norm, Dropout& dropout, const F& f) {
  const Var skip = module_output("skip", x, x);
  auto sublayer = [&](const Var& h) { return module_output("sublayer", h, f(h)); };
  auto normed = [&](const Var& h) { return norm ? module_output("norm", h, (*norm)(h)) : h; };
  if (placement == NormPlacement::Pre) return dropout.add_to(skip, sublayer(normed(x)));
  return normed(dropout.add_to(skip, sublayer(x)));
}

}  // namespace glim
