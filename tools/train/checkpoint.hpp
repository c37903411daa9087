// A checkpoint is one safetensors file with the whole state of a run:
//
//   NAME                  weights and buffers, under the names of torch.nn modules
//   optimizer.NAME        the optimizer's state, in files to resume from
//   metadata              glim (format), kind (tools/train/learners/kinds.hpp), options (JSON), config
//                         (TOML), state (JSON), and the description from which the kind rebuilds its model:
//                         for translation model (JSON), source_tokenizer, target_tokenizer (absent
//                         when shared)
//
// It is written to a temporary file, synced and renamed (tensor/io/atomic_file.hpp): at any moment there is a
// whole checkpoint or none. A model is a folder:
//
//   last.safetensors      to resume from          best.safetensors    best on validation
//   epoch-N.safetensors   for averaging           average.safetensors their mean
//   step-N.safetensors    to return to: of a run with --record (tools/inspect/replay.hpp)
//   config.toml           the run's options       metrics.jsonl       a line for each measurement
//
// FileError naming the file when it is missing, is not a checkpoint, or has tensors that do not fit its
// description.
#pragma once

#include <map>
#include <string>

#include "nn/module.hpp"
#include "tools/train/options.hpp"

namespace glim {

// The state of training between two updates.
struct TrainState {
  Index step = 0;                 // updates so far
  Index epoch = 0;                // epochs finished
  Index batch = 0;                // batches of the current epoch that are done
  Index samples = 0, tokens = 0;  // target tokens
  double best = 0;                // validation NLL per token; meaningless before the first
  Index best_step = 0, validations = 0, bad_validations = 0;
  Index seed = 0, stream = 0;  // of generator()
  // Sums over the epoch under way.
  double epoch_kl = 0, epoch_ce = 0, epoch_nll = 0;
  Index epoch_tokens = 0;
  bool finished = false;
  std::string data;  // Learner::fingerprint

  std::string to_json() const;
  static TrainState from_json(const std::string& text, const std::string& where);
};

struct Checkpoint {
  std::string kind;
  std::map<std::string, std::string> description;  // Learner::description
  TrainOptions options;
  std::string config_toml;
  TrainState state;
  StateDict weights, optimizer;

  // An entry of the description; FileError naming `file` when it is absent.
  const std::string& described(const std::string& name, const std::string& file) const;
  // FileError naming `file` for a model of another kind; `lacks`: what such a model does not do.
  void require_kind(const std::string& wanted, const std::string& lacks,
                    const std::string& file) const;
};

// Gives a model of their sizes these weights. FileError naming `file`.
void load_state(Module& model, const StateDict& weights, const std::string& file);
// Gives a model of the described sizes its precision and weights, and puts it into eval(). FileError naming
// `file`.
void load_weights(Module& model, const Checkpoint& checkpoint, const std::string& file);

// The files step-N.safetensors of a folder, by N.
std::map<Index, std::string> steps_to_return_to(const std::string& folder);

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::string& path);

// The file of a --model argument: the file itself or, in a folder, the first that exists of average, best and
// last. FileError naming the folder otherwise.
std::string model_file(const std::string& path);

}  // namespace glim
