// A checkpoint is the file of a model (models/pipeline/model_file.hpp) with the whole state of a run:
//
//   optimizer.NAME        the optimizer's state, in files to resume from
//   metadata              beside the model's: options (JSON), config (TOML), state (JSON)
//
// It is written to a temporary file, synced and renamed (tensor/io/atomic_file.hpp): at any moment there is a
// whole checkpoint or none. A run's folder has
//
//   last.safetensors      to resume from          best.safetensors    best on validation
//   epoch-N.safetensors   for averaging           average.safetensors their mean
//   step-N.safetensors    to return to: of a run with --record (tools/inspect/report/replay.hpp)
//   config.toml           the run's options       metrics.jsonl       a line for each measurement
//
// FileError naming the file when it is missing, is not a checkpoint, or has tensors that do not fit its
// description.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "autograd/measures.hpp"
#include "models/pipeline/model_file.hpp"
#include "tools/kinds/options.hpp"

namespace glim {

inline const std::string kLastFile = "last.safetensors";
// OUT/NAME, as messages write it.
std::string in_folder(const std::string& folder, const std::string& name);

// The state of training between two updates.
struct TrainState {
  Index step = 0;                 // updates so far
  Index epoch = 0;                // epochs finished
  Index batch = 0;                // batches of the current epoch that are done
  Index samples = 0, tokens = 0;  // target tokens
  double best = 0;                // Learner::criterion; meaningless before the first
  Index best_step = 0, validations = 0, bad_validations = 0;
  Index seed = 0, stream = 0;  // of generator()
  Measures epoch_sums;         // over the epoch under way
  bool finished = false;
  std::string data;  // Learner::fingerprint

  std::string to_json() const;
  static TrainState from_json(const std::string& text, const std::string& where);
};

struct Checkpoint : ModelFile {
  TrainOptions options;
  std::string config_toml;
  TrainState state;
};

// The checkpoints of a folder: the files whose name is one of those above, with a number for N.
std::vector<std::filesystem::path> checkpoints_in(const std::string& folder);
// The files step-N.safetensors of a folder, by N.
std::map<Index, std::string> steps_to_return_to(const std::string& folder);

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// `path` as model_file takes it.
Checkpoint load_checkpoint(const std::string& path);

}  // namespace glim
