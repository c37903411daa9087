#include <memory>

#include "autograd/ops.hpp"
#include "autograd/tape.hpp"
#include "models/gpt/gpt.hpp"
#include "optim/adam.hpp"
#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tools/benchmarks/measures.hpp"
#include "tools/kinds/fingerprint.hpp"

namespace glim::bench {
namespace {

struct Training {
  Training(const Setting& setting, Recompute recompute) : s(setting) {
    seed(1);
    if (s.decoder_only()) {
      if (recompute != Recompute::None)
        throw ValueError("bench", "'" + s.name + "' keeps all that backward reads");
      GptConfig config{.vocab = s.vocab,
                       .context = s.target,
                       .d_model = s.d,
                       .heads = s.heads,
                       .layers = s.layers,
                       .d_ff = s.d_ff,
                       .dropout = 0.1};
      gpt = std::make_unique<Gpt>(config);
    } else {
      TransformerConfig config = transformer_config(s);
      config.recompute = recompute;
      transformer = std::make_unique<Transformer>(config);
      source = random_integers({s.batch, s.source}, 3, s.vocab, {2, 0});
    }
    model().train();
    Tensor target = random_integers({s.batch, s.target + 1}, 3, s.vocab, {2, 1});
    input = narrow(target, 1, 0, s.target).contiguous();
    output = reshape(narrow(target, 1, 1, s.target).contiguous(), {-1});
    const AdamOptions options{.rate = 1e-4, .beta2 = 0.98, .eps = 1e-9};
    optimizer = std::make_unique<Adam>(model().named_parameters(), options);
  }

  Module& model() { return gpt ? static_cast<Module&>(*gpt) : *transformer; }

  Var loss() {
    if (gpt) {
      Var logits = reshape((*gpt)(input), {-1, s.vocab});  // (B, T, V) -> (B·T, V)
      return label_smoothing_loss(logits, output, 0.1, -1);
    }
    TeachOptions teach;
    teach.defer_logits = true;
    TeacherForced taught = transformer->teach(source, input, teach);
    return linear_label_smoothing_loss(reshape(taught.hidden, {-1, s.d}), taught.head->weight,
                                       taught.head->bias, output, 0.1, 0);
  }

  void step(const StepProfile* profile = nullptr) {
    double start = seconds_now();
    {
      Tape tape;
      std::optional<OpTimes> times;
      if (profile) times.emplace(tape);
      Var scaled = loss() / static_cast<double>(output.numel());
      tape.backward(scaled);
      if (profile) profile->after_backward(tape, *times, seconds_now() - start);
    }
    start = seconds_now();
    optimizer->step();
    optimizer->zero_grad();
    if (profile) profile->after_update(model().parameter_count(), seconds_now() - start);
  }

  Setting s;
  std::unique_ptr<Transformer> transformer;
  std::unique_ptr<Gpt> gpt;  // for decoder-only settings
  std::unique_ptr<Adam> optimizer;
  Tensor source, input, output;
};

}  // namespace

Work training_step(const Setting& s, Recompute recompute) {
  auto training = std::make_shared<Training>(s, recompute);
  return [training] { training->step(); };
}

void profiled_steps(const Setting& s, int steps, const StepProfile& profile) {
  Training training(s, Recompute::None);
  for (int i = 0; i < 3; ++i) training.step();
  for (int i = 0; i < steps; ++i) training.step(&profile);
}

std::string weights_after(const Setting& s, int steps, Recompute recompute) {
  Training training(s, recompute);
  for (int i = 0; i < steps; ++i) training.step();
  return weights_hash(training.model().named_parameters());
}

}  // namespace glim::bench
