// The base of classifiers of images: images (B, C, H, W) -> logits (B, classes).
//
// Pixels are first brought to mean 0 and deviation 1 by pixel_mean and pixel_deviation (C,): part of the model, not
// trained.
//
// Errors: ValueError for sizes that make no model; ShapeError unless images are (B, C, H, W) of these sizes.
#pragma once

#include "nn/module.hpp"

namespace glim {

struct ImageSizes {
  Index channels = 1, height = 28, width = 28, classes = 10;
};

class ImageModel : public Layer {
  std::string kind_;
  ImageSizes sizes_;

 public:
  const ImageSizes& sizes() const { return sizes_; }
  Buffer GLIM_NAMED(pixel_mean, zeros({sizes_.channels}));
  Buffer GLIM_NAMED(pixel_deviation, ones({sizes_.channels}));

 protected:
  // `kind` names the model in errors.
  ImageModel(const std::string& kind, const ImageSizes& sizes);

 private:
  Var forward(const Var& images) override;
  virtual Var classify(const Var& pixels) = 0;  // (B, C, H, W) -> (B, classes)
};

}  // namespace glim
