// The checkpoints that a run writes (tools/train/checkpoint.hpp lists them).
#include <filesystem>

#include "optim/averaging.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/folder.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

void Trainer::save(const std::string& name, bool with_optimizer) {
  if (!shards_.processes.first()) return;
  // A finite step can still end in weights that are not: they replace no good checkpoint.
  if (const std::string found = not_finite_parameter(); !found.empty())
    throw NonFiniteError("train",
                         found + " after step " + std::to_string(state_.step) + kept_checkpoint());
  Checkpoint c;
  c.kind = learner_.kind();
  c.description = learner_.description();
  c.options = options_;
  c.config_toml = config_toml_;
  c.state = state_;
  c.weights = learner_.model().state_dict();
  if (with_optimizer) c.optimizer = optimizer_->state_dict();
  std::string path = in_folder(options_.out, name);
  save_checkpoint(path, c);
  if (begins_ && !name.starts_with("step-")) remove_earlier(name);  // that is no model yet
  saved_last_ = saved_last_ || name == kLastFile;
  notify(&TrainObserver::saved, path);
}

// Checkpoints of an earlier run would be taken for this one's. (Those to return to went with their recording, in
// recorder_of.) The one to resume from goes first, for good: a power cut must not leave it without its best and average.
void Trainer::remove_earlier(const std::string& name) {
  namespace fs = std::filesystem;
  const std::string& out = options_.out;
  if (name != kLastFile && fs::remove(in_folder(out, kLastFile))) sync_folder(out, out);
  for (const fs::path& path : checkpoints_in(out))
    if (path.filename() != name && !path.filename().string().starts_with("step-")) fs::remove(path);
  begins_ = false;
}

// The last checkpoint comes after the others: a run that dies in between resumes before them and writes them again,
// the same.
void Trainer::save_all(bool improved, bool epoch_end) {
  const auto epoch_file = [](Index e) { return "epoch-" + std::to_string(e) + ".safetensors"; };
  if (improved) save("best.safetensors", false);
  if (epoch_end && options_.average > 0 && shards_.processes.first()) {
    save(epoch_file(state_.epoch), false);
    std::error_code ignored;
    std::filesystem::remove(in_folder(options_.out, epoch_file(state_.epoch - options_.average)),
                            ignored);
  }
  if (state_.finished && options_.average > 0) save_average();
  save(kLastFile, true);
}

void Trainer::save_average() {
  if (!shards_.processes.first()) return;
  std::vector<StateDict> states;
  for (Index e = std::max<Index>(1, state_.epoch - options_.average + 1); e <= state_.epoch; ++e)
    if (const std::string file =
            in_folder(options_.out, "epoch-" + std::to_string(e) + ".safetensors");
        is_there(file))
      states.push_back(load_checkpoint(file).weights);
  averaged_ = std::ssize(states);
  if (states.empty()) return;
  StateDict trained;
  for (auto& [name, tensor] : learner_.model().state_dict()) trained[name] = tensor.clone();
  learner_.model().load_state_dict(average(states));
  save("average.safetensors", false);
  learner_.model().load_state_dict(trained);
}

}  // namespace glim
