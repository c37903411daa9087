#include "models/vit/vit.hpp"

#include "nn/init.hpp"

namespace glim {
namespace {

const VitConfig& checked(const VitConfig& c) {
  auto fail = [](const std::string& problem) { throw ValueError("vit", problem); };
  if (c.channels < 1 || c.height < 1 || c.width < 1) fail("an image has no pixels");
  if (c.classes < 2) fail("needs two classes at least");
  if (c.patch < 1 || c.height % c.patch != 0 || c.width % c.patch != 0)
    fail("patches of " + std::to_string(c.patch) + " x " + std::to_string(c.patch) +
         " do not tile an image of " + std::to_string(c.height) + " x " + std::to_string(c.width));
  if (c.d_model < 1 || c.layers < 1 || c.d_ff < 0)
    fail("d_model, d_ff and layers must be positive");
  if (c.heads < 1 || c.d_model % c.heads != 0)
    fail(std::to_string(c.heads) + " heads do not divide d_model " + std::to_string(c.d_model));
  if (!(c.dropout >= 0 && c.dropout < 1)) fail("dropout lies outside [0, 1)");
  return c;
}

LayerSizes sizes_of(const VitConfig& c) {
  LayerSizes s;
  s.d_model = c.d_model;
  s.heads = c.heads;
  s.d_ff = c.d_ff ? c.d_ff : 4 * c.d_model;
  s.dropout = c.dropout;
  s.norm = NormPlacement::Pre;
  s.activation = Activation::Gelu;
  s.norm_eps = c.norm_eps;
  return s;
}

}  // namespace

Vit::Vit(const VitConfig& c)
    : patch_embed(child<Conv2d>("patch_embed", checked(c).channels, c.d_model, c.patch,
                                Conv2dOptions{.stride = c.patch})),
      class_token(c.pooling == ImagePooling::ClassToken
                      ? parameter("class_token", zeros({1, 1, c.d_model}))
                      : Var()),
      positions(child<LearnedPositionalEmbedding>("positions", c.d_model, c.dropout,
                                                  c.patches() + class_token.defined())),
      encoder(child<Encoder>("encoder", c.layers, sizes_of(c))),
      head(child<Linear>("head", c.d_model, c.classes)),
      pixel_mean(buffer("pixel_mean", zeros({c.channels}))),
      pixel_deviation(buffer("pixel_deviation", ones({c.channels}))),
      config_(c) {
  for (const Var& p : parameters())
    if (p.rank() == 2) xavier_uniform_(p.value());
  normal_(positions.weight.value(), 0, 0.02);
}

Var Vit::forward(const Var& images) {
  Scope scope = enter();
  const VitConfig& c = config_;
  if (images.rank() != 4 || images.size(1) != c.channels || images.size(2) != c.height ||
      images.size(3) != c.width)
    throw with_operands(
        ShapeError("vit", "images must be (B, " + std::to_string(c.channels) + ", " +
                              std::to_string(c.height) + ", " + std::to_string(c.width) + ")"),
        Operand("images", images.value()));
  Shape along{c.channels, 1, 1};
  Var centered = sub(images, Var(pixel_mean.to(images.dtype()).reshape(along)));
  Var pixels = div(centered, Var(pixel_deviation.to(images.dtype()).reshape(along)));
  // (B, D, H/P, W/P) -> (B, H/P, W/P, D) -> (B, N, D)
  Var tokens =
      reshape(permute(patch_embed(pixels), {0, 2, 3, 1}), {images.size(0), c.patches(), c.d_model});
  if (class_token.defined())
    tokens = concatenate({broadcast_to(class_token, {images.size(0), 1, c.d_model}), tokens}, 1);
  Var z = encoder.forward(positions.forward(tokens), {});
  return head.forward(class_token.defined() ? select(z, 1, 0) : mean(z, {1}));
}

}  // namespace glim
