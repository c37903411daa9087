// The base of classifiers of images: images (B, C, H, W) -> logits (B, classes).
//
// Pixels are first brought to mean 0 and deviation 1 by pixel_mean and pixel_deviation (C,): part of the model, not
// trained.
//
// Errors: ValueError for sizes that make no model; ShapeError unless images are (B, C, H, W) of these sizes.
#pragma once

#include "models/row.hpp"
#include "nn/module.hpp"

namespace glim {

struct ImageSizes {
  Index channels = 1, height = 28, width = 28, classes = 10;

  Rows rows();
};

class ImageModel : public Layer {
  std::string kind_, described_;
  ImageSizes sizes_;

 public:
  const ImageSizes& sizes() const { return sizes_; }
  const std::string& described_sizes() const { return described_; }  // JSON, as a file has them
  // Names of what attention attends to, where the model has any, and a line about them.
  virtual std::vector<std::string> tokens() const { return {}; }
  virtual std::string about_tokens() const { return {}; }
  Buffer GLIM_NAMED(pixel_mean, zeros({sizes_.channels}));
  Buffer GLIM_NAMED(pixel_deviation, ones({sizes_.channels}));

 protected:
  // `kind` names the model in errors.
  template <class Config>
  ImageModel(const std::string& kind, const Config& config)
      : ImageModel(kind, to_json(config), config) {}

 private:
  ImageModel(const std::string& kind, std::string described, const ImageSizes& sizes);
  Var forward(const Var& images) override;
  virtual Var classify(const Var& pixels) = 0;  // (B, C, H, W) -> (B, classes)
};

}  // namespace glim
