// modern: whether the block of today's small decoders learns more than that of 2017, at equal parameters.
//
//   2017     layer norms, learned positions, W₂ gelu(W₁ x), keys and values for every head
//   modern   RMSNorm (Zhang & Sennrich 2019), rotary positions (Su et al. 2021), SwiGLU (Shazeer 2020), and half as
//            many heads of keys and values (Ainslie et al. 2023), as in Llama (Touvron et al. 2023)
//
// Both are pre-norm, without biases, and train as the kind gpt usually does (tools/kinds/gpt.cpp). SwiGLU is as wide as
// it may be with no more parameters in the whole model.
#include <cmath>

#include "models/gpt/gpt.hpp"
#include "tools/kinds/presets.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/training.hpp"

namespace glim::modern {
namespace {

TrainOptions run_options(std::uint64_t seed, bool small, const std::string& text) {
  TrainOptions o;
  o.kind = "gpt";
  o.task = text.empty() ? "phrasebook" : "files";
  o.text = text;
  o.seed = static_cast<Index>(seed);
  apply_preset(o, [](const std::string& name) { return name == "task"; });
  if (!small) return o;
  o.set("layers", 1).set("d_model", 32).set("d_ff", 128).set("block", 16);
  o.max_steps = o.valid_every = 5;
  return o;
}

}  // namespace

GptConfig modern_of(GptConfig c) {
  const Index most = Gpt(c).parameter_count();
  c.positions = Positions::Rotary;
  c.norm_kind = NormKind::Rms;
  c.feed_forward = FeedForward::Gated, c.activation = Activation::Silu;
  c.kv_heads = c.heads / 2;
  c.d_ff = 1;
  c.d_ff += (most - Gpt(c).parameter_count()) / (3 * c.d_model * c.layers);
  return c;
}

Measurement measure(std::uint64_t seed, bool small) { return measure_text(seed, small, {}); }
Measurement measure_text(std::uint64_t seed, bool small, const std::string& text) {
  Measurement m;
  TrainOptions o = run_options(seed, small, text);
  auto trained = [&](const std::string& name) {
    StudyRun run = train_for_study(o);
    for (const auto& [step, nll] : run.curve)  // the ends of epochs differ from seed to seed
      if (Index(step) % o.valid_every == 0) m.curve("loss", name, step, nll);
    m.values["loss_" + name] = run.diverged ? kInf : run.valid.nll;
    if (run.diverged) return GptConfig();
    m.values["parameters_" + name] = static_cast<double>(run.learner->model().parameter_count());
    return dynamic_cast<const Gpt&>(run.learner->model()).config();
  };
  const GptConfig old = trained("2017"), c = modern_of(old);
  o.set("positions", "rotary").set("norm_kind", "rms").set("feed_forward", "gated");
  o.set("activation", "silu").set("kv_heads", c.kv_heads).set("d_ff", c.d_ff);
  trained("modern");
  m.values["lower"] = m.values["loss_2017"] - m.values["loss_modern"];
  m.values["parameters"] = m.values["parameters_modern"] / m.values["parameters_2017"];
  m.values["learned"] = m.values["loss_2017"] / std::log(static_cast<double>(old.vocab));
  m.values["width"] = static_cast<double>(c.d_ff);
  return m;
}

}  // namespace glim::modern
