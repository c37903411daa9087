// A whole small Transformer: every parameter's gradient of the smoothed loss, with seeded dropout,
// padding on both sides, and tied or untied weights; fused, explicit, and the gradient of the
// gradient. By random projection: one number stands for each parameter's gradient.
#include <memory>

#include "autograd/magnification.hpp"
#include "models/transformer/transformer.hpp"
#include "tests/gradients/op_specs.hpp"
#include "tests/ids.hpp"

namespace glim {
namespace {

TransformerConfig small(NormPlacement norm, Tie tie, double dropout, Activation activation,
                        Positions positions) {
  TransformerConfig c;
  c.src_vocab = c.tgt_vocab = 9;
  c.d_model = 8;
  c.heads = 2;
  c.d_ff = 12;
  c.encoder_layers = c.decoder_layers = 2;
  c.dropout = dropout;
  c.norm = norm;
  c.tie = tie;
  c.activation = activation;
  c.positions = positions;
  c.max_len = 6;
  return c;
}

GradcheckReport check(const TransformerConfig& config, Magnification magnification,
                      bool second_order) {
  seed(5);
  Transformer model(config);
  model.to(DType::Float64);
  Tensor source = ids({3, 4, 5, 6, 7, 8, 0, 0}, {2, 4});  // the second sentence is shorter
  Tensor target_in = ids({1, 3, 4, 1, 5, 0}, {2, 3}), target_out = ids({3, 4, 2, 5, 2, 0}, {6});
  Magnify magnify(magnification);
  GradcheckOptions o;
  o.name = "transformer";
  o.mode = GradcheckOptions::Mode::Projection;
  o.directions = 3;
  o.second_order = second_order;
  return gradcheck(
      [&] {
        Var logits = reshape(model.forward(source, target_in), {6, config.tgt_vocab});
        return mul(label_smoothing_loss(logits, target_out, 0.1, 0), 1.0 / 5);
      },
      model.named_parameters(), o);
}

}  // namespace

std::vector<Case> model_cases() {
  std::vector<Case> cases;
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post}) {
    for (Tie tie : {Tie::None, Tie::Decoder, Tie::All}) {
      for (double dropout : {0.0, 0.2}) {
        for (Positions positions : {Positions::Sinusoidal, Positions::Learned}) {
          // GELU is smooth, ReLU has kinks: both activations, the second order only where smooth.
          for (Activation activation : {Activation::Relu, Activation::Gelu}) {
            std::string name = norm == NormPlacement::Pre ? "pre-norm" : "post-norm";
            name += tie == Tie::None ? ", untied" : tie == Tie::All ? ", all tied" : ", tied";
            if (dropout > 0) name += ", dropout";
            name += positions == Positions::Learned ? ", learned positions" : "";
            name += ", " + std::string(name_of(activation));
            TransformerConfig c = small(norm, tie, dropout, activation, positions);
            bool kinks = activation == Activation::Relu;
            cases.push_back({"models", "transformer", name,
                             [=] { return check(c, Magnification::Fused, false); }, kinks});
            cases.push_back({"models", "transformer", name + ", explicit",
                             [=] { return check(c, Magnification::Explicit, false); }, kinks});
            if (!kinks && positions == Positions::Sinusoidal)
              cases.push_back({"models", "transformer", name + ", second order",
                               [=] { return check(c, Magnification::Fused, true); }});
          }
        }
      }
    }
  }
  append_language_models(cases);
  append_vision_models(cases);
  // Positions within self-attention.
  for (Positions positions : {Positions::Rotary, Positions::Alibi}) {
    std::string name = positions == Positions::Rotary ? "rotary positions" : "ALiBi";
    TransformerConfig c = small(NormPlacement::Pre, Tie::Decoder, 0.2, Activation::Gelu, positions);
    cases.push_back(
        {"models", "transformer", name, [=] { return check(c, Magnification::Fused, false); }});
    cases.push_back({"models", "transformer", name + ", explicit",
                     [=] { return check(c, Magnification::Explicit, false); }});
    cases.push_back({"models", "transformer", name + ", second order",
                     [=] { return check(c, Magnification::Fused, true); }});
  }
  append_recurrent_models(cases);
  append_variants(cases);
  return cases;
}

}  // namespace glim
