// The files of a training run, for glim report: the losses of metrics.jsonl
// (tools/train/metrics.hpp), the recording of recording.jsonl (tools/train/recorder.hpp) and the
// options of config.toml.
//
// `notes` name what is missing. A last line that is cut short, by a run that goes on or was killed, is left
// out and noted. FileError names file and line of damaged data, and the nearest folders for a folder that
// does not exist.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/shape.hpp"
#include "tools/measure/attention_statistics.hpp"

namespace glim {

struct Losses {
  std::vector<Index> step;
  std::vector<double> nll;                  // NaN: not finite
  std::vector<double> rate, gradient_norm;  // of training alone
  std::vector<double> kl;                   // of validation alone: the best model has the least
};

// Numbers of rows at the recorded steps; NaN is what was not defined.
struct Track {
  std::string quantity;           // "gradient_norm"
  std::vector<std::string> rows;  // "encoder.layers.0.linear1", "encoder.layers.0.self_attn head 0"
  std::vector<std::vector<double>> values;  // of each record, of each row
};
struct Recording {
  std::string kind;
  Index every = 0;
  std::vector<Index> step;
  std::vector<double> rate, loss;  // loss: KL in nats per target, of the step's batch
  std::vector<Track>
      tracks;  // gradient_norm, update_ratio, rms, similarity, entropy, saturation, distance, score
  // Columns of --record-curvature (tools/train/batch_curvature.hpp): a number for each record, NaN if it has none.
  std::vector<double> curvature, step_curvature;
  double threshold = kNan;  // of step_curvature
  std::vector<std::string> kinks;
  Index stopped_at = 0;  // the step that could not be made, and why; 0: none
  std::string stopped;

  // Null if there is none, or it has no rows or records.
  const Track* track(const std::string& quantity) const;
};

using NamedOptions = std::vector<std::pair<std::string, std::string>>;

struct TrainingRun {
  std::string name, folder;
  NamedOptions options;  // as config.toml has them
  Losses train, valid;
  Recording recording;
  std::vector<std::string> notes;
};

// FileError unless the folder holds what a training run wrote; it names folders that do.
void require_run(const std::string& folder);
TrainingRun read_training_run(const std::string& folder);
// The run of each folder. Names are the folders' own, longer where several are alike. ValueError
// for a folder named twice.
std::vector<TrainingRun> read_training_runs(const std::vector<std::string>& folders);

}  // namespace glim
