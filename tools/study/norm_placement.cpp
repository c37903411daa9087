// norm-placement: where the layer norm stands, and the last layer's gradient at initialisation.
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
#include <cmath>
#include <limits>

#include "models/transformer/transformer.hpp"
#include "nn/init.hpp"
#include "nn/loss.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim {
namespace norm_placement {

constexpr Index kWidth = 64, kTokens = 16, kClasses = 64;

// An encoder with the weights of the theorem.
std::unique_ptr<Encoder> theorem_encoder(Index layers, NormPlacement norm) {
  LayerSizes sizes;
  sizes.d_model = sizes.d_ff = kWidth;
  sizes.heads = 1;
  sizes.dropout = 0;
  sizes.norm = norm;
  sizes.bias = false;
  auto encoder = std::make_unique<Encoder>(layers, sizes);
  for (EncoderLayer& layer : encoder->layers) {
    const Tensor& in = layer.self_attn.in_proj_weight.value();
    in.fill_(0);
    xavier_normal_(narrow(in, 0, 2 * kWidth, kWidth));
    layer.self_attn.out_proj.weight.value().copy_(eye(kWidth));
    xavier_normal_(layer.linear1.weight.value());
    xavier_normal_(layer.linear2.weight.value());
  }
  return encoder;
}

}  // namespace norm_placement

double last_layer_gradient(Index layers, NormPlacement norm) {
  using namespace norm_placement;
  auto encoder = theorem_encoder(layers, norm);
  Linear generator(kWidth, kClasses, false);
  xavier_normal_(generator.weight.value());
  Tensor x = normal({1, kTokens, kWidth}, 0, 1, glim::generator().next());
  Tensor target = random_integers({1}, 0, kClasses, glim::generator().next());
  Tape tape;
  Var hidden = (*encoder)(Var(x));
  tape.backward(cross_entropy(generator(select(hidden, 1, 0)), target));
  return glim::norm(encoder->layers[encoder->layers.size() - 1].linear2.weight.grad());
}

std::vector<double> pre_norm_growth(Index layers, Index sentences, double gain) {
  using namespace norm_placement;
  auto encoder = theorem_encoder(layers, NormPlacement::Pre);
  for (EncoderLayer& layer : encoder->layers) mul_(layer.linear2.weight.value(), gain);
  Var x(normal({sentences, kTokens, kWidth}, 0, 1, glim::generator().next()));
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

namespace norm_placement {

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

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const std::vector<Index> depths =
      small ? std::vector<Index>{2, 4, 8} : std::vector<Index>{6, 12, 24, 48};
  const std::vector<Index> whole_depths =
      small ? std::vector<Index>{1, 2} : std::vector<Index>{3, 6, 12, 24};
  const int draws = small ? 2 : 16, whole_draws = small ? 1 : 6;
  auto slope = [&](const char* key, const char* plot, const char* name,
                   const std::vector<Index>& over, int repeats, NormPlacement norm,
                   double (*gradient)(Index, NormPlacement)) {
    std::vector<double> x, y;
    for (Index layers : over) {
      double total = 0;
      for (int i = 0; i < repeats; ++i) total += gradient(layers, norm);
      x.push_back(static_cast<double>(layers));
      y.push_back(total / repeats);
      m.curve(plot, name, x.back(), y.back());
    }
    m.values[key] = fit_power_law(x, y).slope;
  };
  slope("post_slope", "gradient", "post-norm", depths, draws, NormPlacement::Post,
        last_layer_gradient);
  slope("pre_slope", "gradient", "pre-norm", depths, draws, NormPlacement::Pre,
        last_layer_gradient);
  slope("whole_post_slope", "whole", "post-norm", whole_depths, whole_draws, NormPlacement::Post,
        whole_gradient);
  slope("whole_pre_slope", "whole", "pre-norm", whole_depths, whole_draws, NormPlacement::Pre,
        whole_gradient);

  const Index depth = small ? 4 : 12;
  std::vector<double> growth(static_cast<std::size_t>(depth) + 1, 0);
  for (int i = 0; i < draws; ++i) {
    std::vector<double> one = pre_norm_growth(depth, small ? 4 : 16);
    for (std::size_t l = 0; l < growth.size(); ++l) growth[l] += one[l] / draws;
  }
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (std::size_t l = 0; l < growth.size(); ++l) {
    auto at = static_cast<double>(l);
    m.curve("growth", "E‖x_l‖²/d", at, growth[l]);
    m.curve("growth", "1 + l/2", at, 1 + at / 2, CurveStyle::Reference);
    m.curve("growth", "1 + 3l/2", at, 1 + 3 * at / 2, CurveStyle::Reference);
    if (l == 0) continue;
    lowest = std::min(lowest, (growth[l] - 1) / at);
    highest = std::max(highest, (growth[l] - 1) / at);
  }
  m.values["growth_low"] = lowest;
  m.values["growth_high"] = highest;
  return m;
}

}  // namespace norm_placement

Study norm_placement_study() {
  const char* near = "±0.1 leaves room for 16 draws per depth";
  return {
      "norm-placement",
      "At initialisation the last layer's gradient norm does not fall with depth L in post-norm "
      "(log-log slope near 0) and falls as 1/√L in pre-norm (slope near -½); E‖x_l‖² of pre-norm "
      "lies between (1 + l/2) d and (1 + 3l/2) d.",
      "Xiong et al. 2020, arXiv 2002.04745, Theorem 1 and Lemma 2",
      "encoders of 6, 12, 24, 48 layers, d 64, d_ff 64, one head, W_Q = W_K = 0, 16 tokens, 64 "
      "classes, 16 draws of weights and input a depth; growth over 12 layers, 16 draws of 16 "
      "sentences; whole Transformers of 3, 6, 12, 24 layers per side, d 64, d_ff 256, 4 heads, 6 "
      "draws",
      "encoders of 2, 4, 8 layers, 2 draws; growth over 4 layers, 2 draws of 4 sentences; whole "
      "Transformers of 1 and 2 layers, 1 draw; d 64, 16 tokens, 64 classes",
      {
          {"post_slope", "post-norm: slope of ln ‖∂L/∂W₂‖ over ln L", -0.1, 0.1,
           std::string("the bound does not contain L; ") + near + "."},
          {"pre_slope", "pre-norm: the same", -0.6, -0.4,
           std::string("the bound falls as L^-½. With ‖x_L‖² = (1 + c L) d the slope at a depth "
                       "is -½ c L/(1 + c L), -0.38 to -0.48 from 6 to 48 layers for c = ½; ") +
               near + "."},
          {"growth_low", "pre-norm: least (E‖x_l‖²/d - 1)/l of l = 1 … 12", 0.5, kInf,
           "Lemma 2, lower bound."},
          {"growth_high", "pre-norm: largest (E‖x_l‖²/d - 1)/l", -kInf, 1.5,
           "Lemma 2, upper bound."},
          {"whole_post_slope", "post-norm, whole Transformer: slope", -0.1, 0.1,
           "the same criterion outside the theorem's setting.", false},
          {"whole_pre_slope", "pre-norm, whole Transformer: slope", -0.6, -0.4,
           "the same criterion outside the theorem's setting.", false},
      },
      {{"gradient", "Last layer's gradient at initialisation", "layers L", "‖∂L/∂W₂‖ of layer L",
        true, true},
       {"growth", "Growth of the residual stream, pre-norm", "layer l", "E‖x_l‖²/d"},
       {"whole", "Last decoder layer's gradient, whole Transformer", "layers per side",
        "‖∂L/∂W₂‖ of the last layer", true, true}},
      norm_placement::measure};
}

}  // namespace glim
