// norm-placement: the place of the layer norm, and the last layer's gradient at initialisation.
//
// Xiong et al. 2020 (arXiv 2002.04745). Theorem 1: with L layers of width d,
//
//   post-norm   ‖∂L/∂W^{2,L}‖_F ≤ O(d √ln d)           whatever L
//   pre-norm    ‖∂L/∂W^{2,L}‖_F ≤ O(d √(ln d / L))     since the final norm divides by ‖x_L‖
//
// Lemma 2: in pre-norm (1 + l/2) d ≤ E‖x_l‖² ≤ (1 + 3l/2) d. Each feed-forward network adds d/2;
// attention adds d/T where tokens are independent, d where they are one.
//
// Their setting (section 3.3): one head, W_Q = W_K = 0 (uniform attention), no output projection
// (here the identity), a feed-forward network of width d, weights N(0, 2/(fan_in + fan_out)), input
// N(0, I); the loss is cross-entropy of one position under a linear generator. Beside it, a whole
// Transformer as Glim initialises it: N + N layers, 4 heads, d_ff = 4 d, Xavier-uniform.
#include <algorithm>

#include "models/transformer/transformer.hpp"
#include "nn/init.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::norm_placement {
namespace {

constexpr Index kWidth = 64, kTokens = 16, kClasses = 64;

// An encoder with the weights of the theorem.
std::unique_ptr<Encoder> theorem_encoder(Index layers, NormPlacement norm) {
  const LayerSizes sizes{
      .d_model = kWidth, .heads = 1, .d_ff = kWidth, .dropout = 0, .norm = norm, .bias = false};
  auto encoder = std::make_unique<Encoder>(layers, sizes);
  for (EncoderLayer& layer : encoder->layers) {
    const Tensor& in = layer.self_attn.in_proj.weight.value();
    in.fill_(0);
    xavier_normal_(narrow(in, 0, 2 * kWidth, kWidth));
    layer.self_attn.out_proj.weight.value().copy_(eye(kWidth));
    xavier_normal_(layer.linear1.weight.value());
    xavier_normal_(layer.linear2.weight.value());
  }
  return encoder;
}

double whole_gradient(Index layers, NormPlacement norm) {
  TransformerConfig c;
  c.src_vocab = c.tgt_vocab = kClasses;
  c.d_model = kWidth;
  c.heads = 4;
  c.d_ff = 4 * kWidth;
  c.encoder_layers = c.decoder_layers = layers;
  c.dropout = 0;
  c.norm = norm;
  Transformer model(c);
  auto ids = [] { return random_integers({1, kTokens}, 1, kClasses, glim::generator().next()); };
  Tensor src = ids(), tgt = ids(),
         target = random_integers({1}, 1, kClasses, glim::generator().next());
  Tape tape;
  Var logits = model(src, tgt);  // (1, T, V); the last position sees all others
  tape.backward(cross_entropy(select(logits, 1, kTokens - 1), target));
  return glim::norm(model.decoder.layers[model.decoder.layers.size() - 1].linear2.weight.grad());
}

}  // namespace

double last_layer_gradient(Index layers, NormPlacement norm) {
  auto encoder = theorem_encoder(layers, norm);
  Linear generator(kWidth, kClasses, false);
  xavier_normal_(generator.weight.value());
  Tensor x = gaussian({1, kTokens, kWidth});
  Tensor target = random_integers({1}, 0, kClasses, glim::generator().next());
  Tape tape;
  Var hidden = (*encoder)(Var(x));
  tape.backward(cross_entropy(generator(select(hidden, 1, 0)), target));
  return glim::norm(encoder->layers[encoder->layers.size() - 1].linear2.weight.grad());
}

std::vector<double> pre_norm_growth(Index layers, Index sentences, double gain) {
  auto encoder = theorem_encoder(layers, NormPlacement::Pre);
  for (EncoderLayer& layer : encoder->layers) mul_(layer.linear2.weight.value(), gain);
  Var x(gaussian({sentences, kTokens, kWidth}));
  std::vector<double> squares;
  auto note = [&] {
    squares.push_back(dot(x.value(), x.value()) / static_cast<double>(x.numel()));
  };
  note();
  for (EncoderLayer& layer : encoder->layers) {
    x = layer(x);
    note();
  }
  return squares;
}

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const auto depths = sizes<Index>(small, {2, 4, 8}, {6, 12, 24, 48});
  const auto whole_depths = sizes<Index>(small, {1, 2}, {3, 6, 12, 24});
  const int draws = small ? 2 : 16, whole_draws = small ? 1 : 6;
  for (bool whole : {false, true})
    for (bool post : {true, false}) {
      const char *plot = whole ? "whole" : "gradient", *name = post ? "post-norm" : "pre-norm";
      const NormPlacement norm = post ? NormPlacement::Post : NormPlacement::Pre;
      const auto gradient = whole ? whole_gradient : last_layer_gradient;
      const int repeats = whole ? whole_draws : draws;
      for (Index layers : whole ? whole_depths : depths) {
        double total = 0;
        for (int i = 0; i < repeats; ++i) total += gradient(layers, norm);
        m.curve(plot, name, static_cast<double>(layers), total / repeats);
      }
      m.values[std::string(whole ? "whole_" : "") + (post ? "post_slope" : "pre_slope")] =
          m.exponent(plot, name);
    }

  const Index depth = small ? 4 : 12;
  std::vector<double> growth(static_cast<std::size_t>(depth) + 1, 0);
  for (int i = 0; i < draws; ++i) {
    std::vector<double> one = pre_norm_growth(depth, small ? 4 : 16);
    for (std::size_t l = 0; l < growth.size(); ++l) growth[l] += one[l] / draws;
  }
  double lowest = kInf, highest = -kInf;
  for (std::size_t l = 0; l < growth.size(); ++l) {
    auto layer = static_cast<double>(l);
    m.curve("growth", "E‖x_l‖²/d", layer, growth[l]);
    m.curve("growth", "1 + l/2", layer, 1 + layer / 2, CurveStyle::Reference);
    m.curve("growth", "1 + 3l/2", layer, 1 + 3 * layer / 2, CurveStyle::Reference);
    if (l == 0) continue;
    lowest = std::min(lowest, (growth[l] - 1) / layer);
    highest = std::max(highest, (growth[l] - 1) / layer);
  }
  m.values["growth_low"] = lowest;
  m.values["growth_high"] = highest;
  return m;
}

}  // namespace glim::norm_placement
