// The training recorder: measurements inside a model while it learns, every few steps.
//
//   of each module that has parameters w, with their gradient g (before clipping) and the change Δw
//   that the optimizer made of it:
//     gradient_norm   ‖g‖
//     update_ratio    ‖Δw‖ / ‖w‖, w before the step
//   of each layer and attention head, after the step: tools/measure/probe.hpp
//   with --record-curvature of the step's batch, before the step: tools/train/batch_curvature.hpp
//
// It is an observer of a run. The first step is recorded, then every step that `every` divides. A run ends in the same weights with and
// without recording. At the recorded steps it costs a copy of the weights and a forward pass of a few
// samples, at the others nothing.
//
// OUT/recording.jsonl has one JSON object per line; numbers have six digits (the loss all), null is an undefined
// number:
//
//   {"glim_recording":1,"kind":"transformer","every":100,"modules":["src_embed",…],
//    "layers":["encoder.layers.0",…],"attention":[{"name":"encoder.layers.0.self_attn","heads":8},…]}
//   {"step":100,"rate":…,"loss":…,"gradient_norm":[…],"update_ratio":[…],"rms":[…],
//    "similarity":[…],"entropy":[[…],…],"saturation":[[…],…],"distance":[[…],…],"score":[[…],…]}
//
// gradient_norm and update_ratio are lists by module, rms and similarity by layer, entropy, saturation, distance and
// score by attention, each a list of its heads. loss is that of the step's batch, KL in nats per target. With
// --record-curvature the first line also has "kinks":["relu",…], and the others
// "curvature":λ,"step_curvature":ηλ_P,"threshold":38.
// A run that cannot go on (its loss or gradient is not finite) ends with {"step":…,"stopped":"why"}.
// A resumed run drops the steps that it will repeat (tools/train/json_lines.hpp).
//
// Errors: ValueError when the recording would become larger than kMostBytes, before the run begins;
// FileError.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optim/optimizer.hpp"
#include "tools/kinds/learner.hpp"
#include "tools/measure/probe.hpp"
#include "tools/train/json_lines.hpp"
#include "tools/train/observer.hpp"

namespace glim {

class Trainer;

class StepRecorder : public TrainObserver {
 public:
  static constexpr Index kMostBytes = 256'000'000;

  // total_steps: of the whole run. The learner must outlive it.
  // `kinks`: what the first line has of curvature.
  StepRecorder(const std::string& path, Learner& learner, Index every, Index from_step,
               Index total_steps, const std::optional<std::vector<std::string>>& kinks = {});

  bool due(Index step) const { return step == 1 || step % every_ == 0; }
  void gradients_ready(Index step) override;
  void stepped(const StepReport& report) override;
  void failed(Index step, const std::string& why) override;

 protected:
  std::string curvature_;  // the end of the next line

 private:
  struct ModuleParts {
    std::string name;
    NamedParameters parameters;
    double gradient_norm = 0;
    std::vector<Tensor> old;  // weights before the step
  };
  std::string head(const Probed& probed,
                   const std::optional<std::vector<std::string>>& kinks) const;

  Learner& learner_;
  Index every_;
  std::vector<ModuleParts> modules_;
  std::unique_ptr<JsonLines> lines_;
};

// The recorder of a run that has not begun, in OUT/recording.jsonl, if its options say so. It also keeps checkpoints to
// return to, OUT/step-N.safetensors: 17 from the beginning to the end, fewer where they would take more than 1 GB.
std::unique_ptr<TrainObserver> recorder_of(Trainer& trainer);

}  // namespace glim
