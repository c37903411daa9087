// A convolutional network for images (LeCun et al. 1998, with the batch norm of Ioffe & Szegedy 2015): what the Vision
// Transformer is compared with.
//
//   h_0 = pixels
//   h_l = MaxPool(ReLU(BatchNorm(conv_l h_{l-1})))      windows of k x k with zeros around, D channels; pooling halves
//                                                       height and width
//   logits = W Dropout(mean of h_L over its pixels) + b
//
//   images (B, C, H, W) -> h_l (B, D, ⌊H/2^l⌋, ⌊W/2^l⌋) -> logits (B, classes)
//
// The convolutions have no bias, as the norm subtracts it. Weights start as torch.nn's (nn/vision/conv.hpp).
//
// In training a batch norm needs more than one value a channel: two images, or more than one pixel.
//
// Errors: ValueError for sizes that make no model: a kernel that is even or larger than the images, or images too small to
// be halved that often.
#pragma once

#include "models/image_model.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"
#include "nn/vision/batch_norm.hpp"
#include "nn/vision/pooling.hpp"

namespace glim {

struct CnnConfig : ImageSizes {
  Index d_model = 64, layers = 3, kernel = 3;
  double dropout = 0.1;

  Rows rows();
};

class CnnLayer : public Layer {
 public:
  CnnLayer(Index in, Index out, Index kernel);

  Child<Conv2d> conv;
  Child<BatchNorm> norm;
  Child<Pool2d> pool;

 private:
  Var forward(const Var& x) override { return pool(relu(norm(conv(x)))); }
};

class Cnn : public ImageModel {
  CnnConfig config_;

 public:
  explicit Cnn(const CnnConfig& config);
  const CnnConfig& config() const { return config_; }

  Child<ModuleList<CnnLayer>> layers;
  Child<Dropout> dropout;
  Child<Linear> head;

 private:
  Var classify(const Var& pixels) override;
};

// How often images of these sizes can be halved.
Index most_halvings(const ImageSizes& sizes);

}  // namespace glim
