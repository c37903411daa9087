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

#include "models/transformer/layers.hpp"
#include "nn/init.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::rank_collapse {
namespace {

constexpr Index kTokens = 32, kWidth = 64, kHeads = 4, kHidden = 256;
constexpr double kFloor = 1e-13;  // below it float64 has no residual to speak of

Var attended(EncoderLayer& layer, const Var& x) { return layer.self_attn(x).y; }
Var fed(EncoderLayer& layer, const Var& x) {
  return feed_forward(attended(layer, x), layer.linear1, Activation::Relu, layer.dropout,
                      layer.linear2);
}

struct Variant {
  const char* name;
  Var (*apply)(EncoderLayer& layer, const Var& x);
  double gain = 1;  // of both feed-forward matrices
};
constexpr Variant kVariants[] = {
    {"attention", attended},
    {"+ feed-forward", fed},
    {"+ feed-forward, λ × 4", fed, 2},
    {"+ layer norm", [](EncoderLayer& l, const Var& x) { return l.norm1(attended(l, x)); }},
    {"+ skips", [](EncoderLayer& l, const Var& x) { return add(x, attended(l, x)); }},
    {"all", [](EncoderLayer& l, const Var& x) { return l(x); }},
};

// Residual and norm of the tokens after each layer, the input first.
struct Depths {
  std::vector<double> relative, absolute;
};

Depths through_layers(const Variant& variant, Index layers, const Tensor& input) {
  Depths d;
  Var x(input);
  auto note = [&] {
    d.relative.push_back(relative_residual(x.value()));
    d.absolute.push_back(norm(token_residual(x.value())));
  };
  note();
  for (Index l = 0; l < layers; ++l) {
    EncoderLayer layer({.d_model = kWidth, .heads = kHeads, .d_ff = kHidden, .dropout = 0});
    for (const Var& p : layer.parameters())
      if (p.rank() > 1) xavier_uniform_(p.value());
    for (Linear* w : {&layer.linear1, &layer.linear2}) mul_(w->weight.value(), variant.gain);
    layer.to(DType::Float64);
    x = variant.apply(layer, x);
    note();
  }
  return d;
}

}  // namespace

double step_growth(const std::vector<double>& r, double floor) {
  double least = kInf;
  for (std::size_t l = 2; l < r.size() && r[l] > floor; ++l)
    least = std::min(least, std::log(r[l] / r[l - 1]) / std::log(r[l - 1] / r[l - 2]));
  return least;
}

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const Index layers = small ? 4 : 12;
  const int draws = small ? 1 : 4;
  std::vector<Depths> found(std::size(kVariants));
  double growth = 0;
  for (int i = 0; i < draws; ++i) {
    Tensor x = gaussian({1, kTokens, kWidth}, DType::Float64);
    for (std::size_t v = 0; v < std::size(kVariants); ++v) {
      Depths d = through_layers(kVariants[v], layers, x);
      if (v == 0) growth += step_growth(d.relative, kFloor) / draws;
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
  const Depths &pure = found[0], &with_network = found[1], &wide = found[2], &normed = found[3],
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
  m.values["feed_forward"] = with_network.relative[l] / pure.relative[l];
  m.values["wide_feed_forward"] = wide.relative[l] / pure.relative[l];
  return m;
}

}  // namespace glim::rank_collapse
