#include "models/vit/vit.hpp"

#include "models/size_rows.hpp"
#include "nn/init.hpp"

namespace glim {
namespace {

const VitConfig& checked(const VitConfig& c) {
  auto fail = [](const std::string& problem) { throw ValueError("vit", problem); };
  if (c.patch < 1 || c.height % c.patch != 0 || c.width % c.patch != 0)
    fail("patches of " + std::to_string(c.patch) + " x " + std::to_string(c.patch) +
         " do not tile an image of " + std::to_string(c.height) + " x " + std::to_string(c.width));
  if (c.d_model < 1 || c.layers < 1 || c.d_ff < 0)
    fail("d_model, d_ff and layers must be positive");
  return c;
}

LayerSizes sizes_of(const VitConfig& c) {
  LayerSizes s{
      c.d_model,        c.heads,   c.d_ff ? c.d_ff : 4 * c.d_model, c.dropout, NormPlacement::Pre,
      Activation::Gelu, c.norm_eps};
  s.share_qk = c.share_qk;
  return s;
}

}  // namespace

Rows VitConfig::rows() {
  return concatenated(ImageSizes::rows(),
                      {{"patch", &patch, "side of the square patches of an image", kPositive},
                       size_rows::layers(layers),
                       size_rows::d_model(d_model),
                       size_rows::heads(heads),
                       size_rows::d_ff(d_ff),
                       size_rows::dropout(dropout),
                       size_rows::pooling(pooling),
                       {"norm_eps", &norm_eps},
                       size_rows::positions(positions, size_rows::kAdded),
                       size_rows::position_base(position_base),
                       size_rows::share_qk(share_qk)});
}

Vit::Vit(const VitConfig& c)
    : ImageModel("vit", c),
      config_(checked(c)),
      GLIM_NAMED(patch_embed, c.channels, c.d_model, c.patch, Conv2dOptions{.stride = c.patch}),
      GLIM_NAMED(class_token, c.pooling == Pooling::First ? zeros({1, 1, c.d_model}) : Tensor()),
      GLIM_NAMED(positions, c.positions, c.d_model, c.dropout, c.patches() + class_token.defined(),
                 c.position_base),
      GLIM_NAMED(encoder, c.layers, sizes_of(c)),
      GLIM_NAMED(head, c.d_model, c.classes) {
  for (const Var& p : parameters())
    if (p.rank() == 2) xavier_uniform_(p.value());
  if (positions.weight.defined()) normal_(positions.weight.value(), 0, 0.02);
}

std::vector<std::string> Vit::tokens() const {
  std::vector<std::string> names;
  if (config_.pooling == Pooling::First) names.push_back("class");
  for (Index i = 0; i < config_.height / config_.patch; ++i)
    for (Index k = 0; k < config_.width / config_.patch; ++k)
      names.push_back("patch " + std::to_string(i) + "," + std::to_string(k));
  return names;
}

std::string Vit::about_tokens() const {
  const std::string side = std::to_string(config_.patch);
  return "patches of " + side + " x " + side + ": " + std::to_string(config_.patches()) +
         " per image";
}

Var Vit::classify(const Var& pixels) {
  const VitConfig& c = config_;
  // (B, D, H/P, W/P) -> (B, H/P, W/P, D) -> (B, N, D)
  Var tokens =
      reshape(permute(patch_embed(pixels), {0, 2, 3, 1}), {pixels.size(0), c.patches(), c.d_model});
  if (class_token.defined())
    tokens = concatenate({broadcast_to(class_token, {pixels.size(0), 1, c.d_model}), tokens}, 1);
  Var z = encoder(positions(tokens));
  return head(class_token.defined() ? select(z, 1, 0) : mean(z, {1}));
}

}  // namespace glim
