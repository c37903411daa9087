// The Vision Transformer (Dosovitskiy et al. 2021, arXiv 2010.11929, section 3.1): an image as a
// sequence of patches.
//
//   z_0 = [class; p_1 E; ...; p_N E] + E_pos        p_i: patch i, P x P pixels of C channels
//   z_l = encoder layers, pre-norm, GELU            (models/transformer/layers.hpp)
//   logits = W z̄ + b, z̄ = LN(z_L) at the class token, or its mean over the patches (then there is
//            no class token)
//
//   images (B, C, H, W) -> patches (B, N, D), N = H W / P² -> logits (B, classes)
//
// E is a convolution whose windows do not overlap: kernel and stride P.
//
// Matrices start Xavier-uniform, positions N(0, 0.02), the class token 0. Layers have the names of
// torch.nn.TransformerEncoder.
//
// Errors: those of models/image_model.hpp; ValueError for patches that do not tile the image.
#pragma once

#include "models/image_model.hpp"
#include "models/pooling.hpp"
#include "models/transformer/layers.hpp"
#include "nn/attention/positions.hpp"
#include "nn/vision/conv.hpp"

namespace glim {

struct VitConfig : ImageSizes {
  Index patch = 7;
  Index d_model = 64, heads = 4, layers = 4;
  Index d_ff = 0;  // 0: 4 D
  double dropout = 0.1;
  Pooling pooling = Pooling::First;
  double norm_eps = 1e-6;
  Positions positions = Positions::Learned;  // or Sinusoidal, of this base, or None
  double position_base = 10000;
  bool share_qk = false;  // one projection for queries and keys

  Index patches() const { return height / patch * (width / patch); }
  Rows rows();
};

class Vit : public ImageModel {
  VitConfig config_;

 public:
  explicit Vit(const VitConfig& config);
  const VitConfig& config() const { return config_; }
  std::vector<std::string> tokens() const override;  // "class", "patch 0,0", ...
  std::string about_tokens() const override;

  Child<Conv2d> patch_embed;
  Param class_token;  // (1, 1, D); undefined with Pooling::Mean
  Child<PositionalEncoding> positions;
  Child<Encoder> encoder;
  Child<Linear> head;

 private:
  Var classify(const Var& pixels) override;
};

}  // namespace glim
