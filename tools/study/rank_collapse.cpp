// rank-collapse: attention alone makes all tokens one.
//
// Dong et al. 2021 (arXiv 2103.03404): for attention without skips or feed-forward networks the
// residual res(X) = X - 1 x̄ᵀ obeys ‖res(X_L)‖ ≤ C^{(3^L - 1)/2} ‖res(X_0)‖^{3^L}: cubic in each
// layer, so its logarithm grows as 3^L. Skips keep the residual (a path through no attention at
// all), a feed-forward network of Lipschitz constant λ > 1 slows the collapse, layer norm scales
// the rows and changes nothing of it.
//
// Measured: r_l = ‖res(X_l)‖_F/‖X_l‖_F, as in their figure 2, after each layer of
//
//   attention        x ← A(x)                  + feed-forward   x ← F(A(x))
//   + layer norm     x ← LN(A(x))              + skips          x ← x + A(x)
//   all              a post-norm encoder layer
//
// built of Glim's layers with the initial weights of its Transformer (Xavier-uniform).
#include <cmath>
#include <limits>

#include "models/transformer/layers.hpp"
#include "nn/init.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim {
namespace rank_collapse {

constexpr Index kTokens = 32, kWidth = 64, kHeads = 4, kHidden = 256;
constexpr double kFloor = 1e-13;  // below it float64 has no residual to speak of

enum class Parts { Attention, FeedForward, WideFeedForward, LayerNorm, Skips, All };

// Residual and norm of the tokens after each layer, the input first.
struct Depths {
  std::vector<double> relative, absolute;
};

Depths through_layers(Parts parts, Index layers, const Tensor& input) {
  Depths d;
  LayerSizes sizes;
  sizes.d_model = kWidth;
  sizes.heads = kHeads;
  sizes.d_ff = kHidden;
  sizes.dropout = 0;
  Var x(input);
  auto note = [&] {
    d.relative.push_back(relative_residual(x.value()));
    d.absolute.push_back(norm(token_residual(x.value())));
  };
  note();
  for (Index l = 0; l < layers; ++l) {
    EncoderLayer layer(sizes);
    for (const Var& p : layer.parameters())
      if (p.rank() > 1) xavier_uniform_(p.value());
    if (parts == Parts::WideFeedForward)  // λ four times as large
      for (Linear* w : {&layer.linear1, &layer.linear2}) mul_(w->weight.value(), 2);
    layer.to(DType::Float64);
    auto attended = [&] { return layer.self_attn(x).y; };
    switch (parts) {
      case Parts::Attention:
        x = attended();
        break;
      case Parts::FeedForward:
      case Parts::WideFeedForward:
        x = feed_forward(attended(), layer.linear1, Activation::Relu, layer.dropout, layer.linear2);
        break;
      case Parts::LayerNorm:
        x = layer.norm1(attended());
        break;
      case Parts::Skips:
        x = add(x, attended());
        break;
      case Parts::All:
        x = layer(x);
        break;
    }
    note();
  }
  return d;
}

struct Variant {
  Parts parts;
  const char* name;
};
constexpr Variant kVariants[] = {
    {Parts::Attention, "attention"},
    {Parts::FeedForward, "+ feed-forward"},
    {Parts::WideFeedForward, "+ feed-forward, λ × 4"},
    {Parts::LayerNorm, "+ layer norm"},
    {Parts::Skips, "+ skips"},
    {Parts::All, "all"},
};

}  // namespace rank_collapse

double step_growth(const std::vector<double>& r, double floor) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t l = 2; l < r.size() && r[l] > floor; ++l)
    least = std::min(least, std::log(r[l] / r[l - 1]) / std::log(r[l - 1] / r[l - 2]));
  return least;
}

namespace rank_collapse {

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const Index layers = small ? 4 : 12;
  const int draws = small ? 1 : 4;
  std::vector<Depths> found(std::size(kVariants));
  double growth = 0;
  for (int i = 0; i < draws; ++i) {
    Tensor x = normal({1, kTokens, kWidth}, 0, 1, generator().next(), DType::Float64);
    for (std::size_t v = 0; v < std::size(kVariants); ++v) {
      Depths d = through_layers(kVariants[v].parts, layers, x);
      if (kVariants[v].parts == Parts::Attention) growth += step_growth(d.relative, kFloor) / draws;
      // Geometric means over the draws.
      Depths& mean = found[v];
      mean.relative.resize(d.relative.size(), 1);
      mean.absolute.resize(d.absolute.size(), 1);
      for (std::size_t l = 0; l < d.relative.size(); ++l) {
        mean.relative[l] *= std::pow(d.relative[l], 1.0 / draws);
        mean.absolute[l] *= std::pow(d.absolute[l], 1.0 / draws);
      }
    }
  }
  for (std::size_t v = 0; v < std::size(kVariants); ++v)
    for (std::size_t l = 0; l < found[v].relative.size(); ++l)
      m.curve("relative", kVariants[v].name, static_cast<double>(l), found[v].relative[l]);
  const Depths &pure = found[0], &fed = found[1], &wide = found[2], &normed = found[3],
               &skipped = found[4], &all = found[5];
  m.values["collapse"] = pure.relative.back();
  m.values["growth"] = growth;
  m.values["skips_keep"] = skipped.absolute.back() / skipped.absolute.front();
  m.values["attention_keeps"] = pure.absolute.back() / pure.absolute.front();
  m.values["skips_relative"] = skipped.relative.back();
  m.values["layer_norm"] = normed.relative.back();
  m.values["all"] = all.relative.back();
  // Where attention alone has lost six decades, but is not yet at the floor.
  std::size_t l = 0;
  while (l + 1 < pure.relative.size() && pure.relative[l] > 1e-6) ++l;
  m.values["feed_forward"] = fed.relative[l] / pure.relative[l];
  m.values["wide_feed_forward"] = wide.relative[l] / pure.relative[l];
  return m;
}

}  // namespace rank_collapse

Study rank_collapse_study() {
  return {
      "rank-collapse",
      "Pure attention collapses tokens to one with depth, doubly exponentially at first; skips "
      "prevent it, feed-forward slows it, layer norm alone does not.",
      "Dong et al. 2021, arXiv 2103.03404",
      "12 layers (BERT's), 32 tokens N(0, 1), d 64, 4 heads, d_ff 256, Xavier-uniform (λ × 4: both "
      "feed-forward matrices doubled), float64, 4 "
      "draws (geometric means)",
      "4 layers, 32 tokens, d 64, 4 heads, d_ff 256, Xavier-uniform, float64, 1 draw",
      {
          {"collapse", "attention: relative residual after the last layer", 0, 1e-6,
           "one token, except for a millionth."},
          {"growth", "attention: least growth of the step of ln r, above 1e-13", 2, kInf,
           "an exponential collapse has equal steps (1), the theorem's bound steps that grow "
           "threefold (3): 2 tells them apart."},
          {"skips_keep", "+ skips: ‖res(X_L)‖/‖res(X_0)‖", 1, kInf,
           "prevented: the residual, which the theorem is about, does not fall."},
          {"attention_keeps", "attention: the same", 0, kInf, "a control.", false},
          {"feed_forward", "+ feed-forward: r/r of attention, where that is first below 1e-6", 10,
           kInf, "slowed: at least a decade is left of those lost."},
          {"layer_norm", "+ layer norm: relative residual after the last layer", 0, 1e-6,
           "not prevented: as far down as attention alone."},
          {"wide_feed_forward", "+ feed-forward, λ × 4: the same ratio", 10, kInf,
           "the regime that the paper's argument is about: a large Lipschitz constant.", false},
          {"skips_relative", "+ skips: relative residual after the last layer", 0, kInf,
           "the common part may grow faster than the residual; shown, not claimed.", false},
          {"all", "all, post-norm: relative residual after the last layer", 0, kInf, "shown.",
           false},
      },
      {{"relative", "What is left besides the mean token", "layers", "‖res(X)‖/‖X‖", false, true}},
      rank_collapse::measure};
}

}  // namespace glim
