// Residual connection around a sublayer f (He et al. 2016), with the norm before or after:
//
//   Pre    y = x + Dropout(f(N(x)))      Xiong et al. 2020; a final norm follows the last layer
//   Post   y = N(x + Dropout(f(x)))      Vaswani et al. 2017, sections 3.1 and 5.4
//
// Without a norm (null), both are y = x + Dropout(f(x)). With Pre the skip passes dy on unchanged, and f adds its part
// (AddDropout in autograd/ops/dropout.cpp).
//
// Norm and dropout belong to the layer (torch's norm1 and dropout1, norm2 and dropout2, ...).
// f maps a Var to a Var of x's shape; ShapeError otherwise. An observer sees the three parts, and may put something in
// their place (module_output in autograd/tape.hpp).
#pragma once

#include "nn/choice.hpp"
#include "nn/dropout.hpp"
#include "nn/norm.hpp"

namespace glim {

enum class NormPlacement { Pre, Post };
template <>
inline const ChoiceNames<NormPlacement> kNames<NormPlacement>{
    {{"pre", NormPlacement::Pre}, {"post", NormPlacement::Post}}};

template <class Sublayer>
Var residual(NormPlacement placement, const Var& x, Layer* norm, Dropout& dropout,
             const Sublayer& f) {
  const Var skip = module_output("skip", x, x);
  auto F = [&](const Var& h) {
    const Var y = f(h);
    if (y.shape() != x.shape())
      throw ShapeError("residual", "the sublayer must keep the shape of x", {{"x", x}, {"f", y}});
    return module_output("sublayer", h, y);
  };
  auto N = [&](const Var& h) { return norm ? module_output("norm", h, (*norm)(h)) : h; };
  return placement == NormPlacement::Pre ? dropout.add_to(skip, F(N(x)))
                                         : N(dropout.add_to(skip, F(x)));
}

}  // namespace glim
