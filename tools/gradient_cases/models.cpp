// A whole small Transformer: every parameter's gradient of the smoothed loss, with seeded dropout,
// padding on both sides, and tied or untied weights.
#include "models/transformer/transformer.hpp"
#include "tools/gradient_cases/module_cases.hpp"

namespace glim {
namespace {

void add(std::vector<Case>& cases, const std::string& name, NormPlacement norm, Tie tie,
         double dropout, Activation activation, Positions positions, bool share_qk = false) {
  auto c = sized<TransformerConfig>(9, 8, 2, 12, 2);
  c.dropout = dropout;
  c.norm = norm;
  c.tie = tie;
  c.activation = activation;
  c.positions = positions;
  c.position_base = 100;
  c.share_qk = share_qk;
  c.max_len = 6;
  Tensor source = ids({3, 4, 5, 6, 7, 8, 0, 0}, {2, 4});  // the second sentence is shorter
  Tensor target_in = ids({1, 3, 4, 1, 5, 0}, {2, 3}), target_out = ids({3, 4, 2, 5, 2, 0}, {6});
  specs::add_module<Transformer>(
      cases,
      {.op = "transformer",
       .name = name,
       .kinks = activation == Activation::Relu,
       .second_order = positions != Positions::Learned,
       .spread = false},
      [=](Transformer& model, const Var&) {
        Var logits = reshape(model(source, target_in), {6, 9});
        return label_smoothing_loss(logits, target_out, 0.1, 0).loss / 5;
      },
      c);
}

void add_stacks(std::vector<Case>& cases) {
  const Tensor drawn = uniform({2, 1, 4}, -1, 1, {6, 3}, DType::Float64);
  AttentionRequest causal;
  causal.causal = true;
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (bool last : {false, true}) {
      const LayerSizes sizes{.d_model = 4,
                             .heads = 2,
                             .d_ff = 6,
                             .dropout = 0.2,
                             .norm = norm,
                             .activation = Activation::Gelu,
                             .final_norm = last};
      const std::string name = std::string(norm == NormPlacement::Pre ? "pre" : "post") +
                               "-norm, " + (last ? "a last norm" : "no last norm");
      specs::add_module<Encoder>(
          cases, specs::of_layer("Encoder", name, {2, 3, 4}),
          [=](Encoder& stack, const Var& x) { return stack(x, causal); }, 1, sizes);
      specs::add_module<Decoder>(
          cases, specs::of_layer("Decoder", name, {2, 3, 4}),
          [=](Decoder& stack, const Var& x) {
            return stack(x, x + Var(drawn), causal, AttentionRequest{}).hidden;
          },
          1, sizes);
    }
  auto encoder = [&](const std::string& name, LayerSizes sizes) {
    sizes.d_model = 4, sizes.heads = 2, sizes.d_ff = 6, sizes.activation = Activation::Silu;
    specs::add_module<Encoder>(
        cases, specs::of_layer("Encoder", name, {2, 3, 4}),
        [=](Encoder& stack, const Var& x) { return stack(x, causal); }, 1, sizes);
  };
  encoder("RMS norms", {.norm_kind = NormKind::Rms});
  encoder("no norms", {.norm_kind = NormKind::None});
  encoder("another factor of Q Kᵀ", {.attention_scale = 1.5});
  encoder("gated", {.feed_forward = FeedForward::Gated});
  encoder("a shared head of key and value", {.kv_heads = 1});
  for (Positions p : {Positions::Rotary, Positions::None})
    encoder("norms of queries and keys, " + kNames<Positions>.print(p),
            {.positions = p, .qk_norm = true});
  encoder("linear attention", {.positions = Positions::Rotary, .form = AttentionForm::Linear});
}

}  // namespace

std::vector<Case> model_cases() {
  std::vector<Case> cases;
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (Tie tie : {Tie::None, Tie::Decoder, Tie::All})
      for (double dropout : {0.0, 0.2})
        for (Positions positions : {Positions::Sinusoidal, Positions::Learned})
          // GELU is smooth, ReLU has kinks: both activations, the second order only where smooth.
          for (Activation activation : {Activation::Relu, Activation::Gelu}) {
            std::string name = norm == NormPlacement::Pre ? "pre-norm" : "post-norm";
            name += tie == Tie::None ? ", untied" : tie == Tie::All ? ", all tied" : ", tied";
            if (dropout > 0) name += ", dropout";
            name += positions == Positions::Learned ? ", learned positions" : "";
            name += ", " + kNames<Activation>.print(activation);
            add(cases, name, norm, tie, dropout, activation, positions);
          }
  append_language_models(cases);
  append_vision_models(cases);
  // Positions within self-attention.
  for (Positions positions : {Positions::Rotary, Positions::Alibi})
    add(cases, positions == Positions::Rotary ? "rotary positions" : "ALiBi", NormPlacement::Pre,
        Tie::Decoder, 0.2, Activation::Gelu, positions);
  for (bool share_qk : {false, true})
    add(cases, share_qk ? "shared query and key, no positions" : "no positions", NormPlacement::Pre,
        Tie::Decoder, 0.2, Activation::Gelu, Positions::None, share_qk);
  add_stacks(cases);
  append_recurrent_models(cases);
  append_variants(cases);
  return cases;
}

}  // namespace glim
