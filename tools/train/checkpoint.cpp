#include "tools/train/checkpoint.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/checksum.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/common/number.hpp"

namespace glim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainState, step, epoch, batch, samples, tokens, best, best_step,
                                   validations, bad_validations, seed, stream, finished, data)

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string TrainState::to_json() const {
  nlohmann::json j(*this);
  j["epoch_kl"] = epoch_sums.kl;
  j["epoch_ce"] = epoch_sums.smoothed_ce;
  j["epoch_nll"] = epoch_sums.nll;
  j["epoch_tokens"] = epoch_sums.tokens;
  return j.dump();
}

TrainState TrainState::from_json(const std::string& text, const std::string& where) {
  return read_json(text, TrainState{}.to_json(), where, "training state",
                   [](const nlohmann::json& j) {
                     auto state = j.get<TrainState>();
                     state.epoch_sums = {.kl = j.at("epoch_kl"),
                                         .smoothed_ce = j.at("epoch_ce"),
                                         .nll = j.at("epoch_nll"),
                                         .tokens = j.at("epoch_tokens")};
                     return state;
                   });
}

// N of PREFIXN.safetensors, or -1.
static Index numbered(const std::filesystem::path& path, const std::string& prefix) {
  const std::string stem = path.stem().string();
  if (path.extension() != ".safetensors" || !stem.starts_with(prefix)) return -1;
  return number_in<Index>(stem.substr(prefix.size())).value_or(-1);
}

std::vector<std::filesystem::path> checkpoints_in(const std::string& folder) {
  std::vector<std::filesystem::path> files = entries_of(folder);
  std::erase_if(files, [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name != kLastFile && name != "best.safetensors" && name != "average.safetensors" &&
           numbered(path, "epoch-") < 0 && numbered(path, "step-") < 0;
  });
  return files;
}

std::map<Index, std::string> steps_to_return_to(const std::string& folder) {
  std::map<Index, std::string> files;
  for (const auto& path : entries_of(folder))
    if (const Index step = numbered(path, "step-"); step >= 0) files[step] = path.string();
  return files;
}

void save_checkpoint(const std::string& path, const Checkpoint& c) {
  std::map<std::string, Tensor> tensors = c.weights;
  for (auto& [name, tensor] : c.optimizer) tensors[kOptimizerPrefix + name] = tensor;
  std::map<std::string, std::string> metadata = c.description;
  metadata["glim"] = kModelFormat;
  metadata["kind"] = c.kind;
  metadata["options"] = c.options.to_json();
  metadata["config"] = c.config_toml;
  metadata["state"] = c.state.to_json();
  write_safetensors(path, tensors, with_checksum(tensors, metadata));
}

Checkpoint load_checkpoint(const std::string& path) {
  Checkpoint c{read_model(path), {}, {}, {}};
  c.options = TrainOptions::from_json(c.run.at("options"), c.file);
  c.config_toml = std::move(c.run.at("config"));
  c.state = TrainState::from_json(c.run.at("state"), c.file);
  c.run.clear();
  return c;
}

}  // namespace glim
