// A step of a training run made again, with the same bits: the model before it, and which sentences its gradient
// came from.
//
// The run goes on from the checkpoint in its folder that is nearest before the step (of a run with --record there are
// up to 16, step-N.safetensors), or from its beginning. The gradient of a step is a sum over the sentences of its
// batch; the part of one is
//
//   g_i = ∂/∂θ Σ over its tokens of KL / N      N the targets of the whole batch
//
// taken at the weights before the step, without dropout, so that an inspection of the sentence agrees with it.
//
// Errors: ValueError for a step that the run did not reach, and for a run whose model reads no sentence pairs;
// FileError for a folder without checkpoints, and for data that are gone or no longer those of the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/data/corpus/corpus.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {

struct ReplayedSentence {
  SentencePair pair;
  double gradient_norm = 0;  // ‖g_i‖
};

struct ReplayedStep {
  Index from = 0;                           // the step of the checkpoint; 0: the beginning
  double loss = 0;                          // KL in nats per target; NaN: the step cannot be made
  double gradient_norm = 0;                 // of the whole batch, with dropout
  std::optional<double> recorded;           // the loss in the recording, if it has this step
  std::vector<ReplayedSentence> sentences;  // the largest part first
  Checkpoint before;                        // the model before the step
};
ReplayedStep replay_step(const std::string& folder, Index step);

// The command that opens the microscope on a step; empty for a kind of model that reads no sentence pairs.
std::string replay_command(const std::string& folder, const std::string& kind, Index step);

}  // namespace glim
