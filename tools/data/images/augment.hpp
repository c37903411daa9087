// Small random movements of images, so that a model does not memorise the place of each pixel. An image is
// turned about its centre by an angle in ±rotation, then shifted by up to ±shift pixels along each axis.
//
//   y[c, p] = x[c, R(-φ)(p - centre - s) + centre], interpolated between the four neighbours of that place
//             (bilinear); 0 outside
//
// images (B, C, H, W) float32. A function of its arguments: the key says which random numbers.
#pragma once

#include "tensor/random.hpp"

namespace glim {

struct Augmentation {
  double shift = 0;     // pixels
  double rotation = 0;  // degrees
  bool any() const { return shift > 0 || rotation > 0; }
};

Tensor augment(const Tensor& images, const Augmentation& options, RandomKey key);

}  // namespace glim
