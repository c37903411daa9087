// A step of a training run made again, with the same bits: the model before it, and which samples its gradient
// came from.
//
// The run goes on from the checkpoint in its folder that is nearest before the step (of a run with --record there are
// up to 16, step-N.safetensors), or from its beginning. The gradient of a step is a sum over the samples of its
// batch; the part of one is
//
//   g_i = ∂/∂θ Σ over its targets of KL / N      N the targets of the whole batch
//
// taken at the weights before the step, without dropout, so that an inspection of the sample agrees with it. The
// hidden tokens of a bert are those of the step.
//
// Errors: ValueError for a step that the run did not reach; FileError for a folder without checkpoints, and for data
// that are gone or no longer those of the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/kinds/learner.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {

struct ReplayedSample : TrainingSample {
  double loss = 0;           // its own, the sum over its targets
  double gradient_norm = 0;  // ‖g_i‖
};

struct ReplayedStep {
  Index start = 0;                      // the step of the checkpoint; 0: the beginning
  double loss = 0;                      // KL in nats per target; NaN: the step cannot be made
  double gradient_norm = 0;             // of the whole batch, with dropout
  std::optional<double> recorded;       // the loss in the recording, if it has this step
  std::vector<ReplayedSample> samples;  // the largest part first
  Checkpoint before;                    // the model before the step
};
ReplayedStep replay_step(const std::string& folder, Index step);

// The command that opens the microscope on a step.
std::string replay_command(const std::string& folder, Index step);

}  // namespace glim
