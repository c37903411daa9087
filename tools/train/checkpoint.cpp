#include "tools/train/checkpoint.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/common/number.hpp"

namespace glim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainState, step, epoch, batch, samples, tokens, best, best_step,
                                   validations, bad_validations, seed, stream, epoch_kl, epoch_ce,
                                   epoch_nll, epoch_tokens, finished, data)

namespace {
constexpr const char* kFormat = "1";
const std::string kOptimizer = "optimizer.";
}  // namespace

std::string TrainState::to_json() const { return nlohmann::json(*this).dump(); }

TrainState TrainState::from_json(const std::string& text, const std::string& where) {
  return read_json(text, TrainState{}.to_json(), where, "training state",
                   [](const nlohmann::json& j) { return j.get<TrainState>(); });
}

void Checkpoint::require_kind(const std::string& wanted, const std::string& lacks,
                              const std::string& file) const {
  if (kind != wanted)
    throw FileError(file, "holds a model of kind '" + kind + "', which does not " + lacks +
                              "; use one of kind '" + wanted + "'");
}

void load_state(Module& model, const StateDict& weights, const std::string& file) {
  try {
    model.load_state_dict(weights);
  } catch (const Error& e) {
    throw FileError(file, e.one_line());
  }
}

void load_weights(Module& model, const Checkpoint& c, const std::string& file) {
  if (c.options.precision == "float64") model.to(DType::Float64);
  load_state(model, c.weights, file);
  model.eval();
}

std::map<Index, std::string> steps_to_return_to(const std::string& folder) {
  std::map<Index, std::string> files;
  for (const auto& path : entries_of(folder)) {
    const std::string stem = path.stem().string();
    if (path.extension() != ".safetensors" || !stem.starts_with("step-")) continue;
    if (const auto step = number_in<Index>(stem.substr(5)); step && *step >= 0)
      files[*step] = path.string();
  }
  return files;
}

void save_checkpoint(const std::string& path, const Checkpoint& c) {
  std::map<std::string, Tensor> tensors = c.weights;
  for (auto& [name, tensor] : c.optimizer) tensors[kOptimizer + name] = tensor;
  std::map<std::string, std::string> metadata = c.description;
  metadata["glim"] = kFormat;
  metadata["kind"] = c.kind;
  metadata["options"] = c.options.to_json();
  metadata["config"] = c.config_toml;
  metadata["state"] = c.state.to_json();
  write_safetensors(path, tensors, metadata);
}

const std::string& Checkpoint::described(const std::string& name, const std::string& file) const {
  auto at = description.find(name);
  if (at == description.end())
    throw FileError(file, "is not a whole checkpoint: its metadata has no '" + name + "'");
  return at->second;
}

Checkpoint load_checkpoint(const std::string& path) {
  SafeTensors file = read_safetensors(path);
  auto text = [&](const char* key) -> const std::string& {
    auto at = file.metadata.find(key);
    if (at == file.metadata.end())
      throw FileError(
          path,
          std::string("is not a checkpoint of glim train: its metadata has no '") + key + "'");
    return at->second;
  };
  if (text("glim") != kFormat)
    throw FileError(
        path, "has checkpoint format '" + text("glim") + "'; this program reads '" + kFormat + "'");
  Checkpoint c;
  c.kind = text("kind");
  c.options = TrainOptions::from_json(text("options"), path);
  c.config_toml = text("config");
  c.state = TrainState::from_json(text("state"), path);
  for (auto& [name, value] : file.metadata)
    if (name != "glim" && name != "kind" && name != "options" && name != "config" &&
        name != "state")
      c.description[name] = value;
  for (auto& [name, tensor] : file.tensors) {
    if (name.rfind(kOptimizer, 0) == 0)
      c.optimizer[name.substr(kOptimizer.size())] = tensor;
    else
      c.weights[name] = tensor;
  }
  return c;
}

std::string model_file(const std::string& path) {
  namespace fs = std::filesystem;
  auto status = [](const std::string& file) {
    std::error_code error;
    const fs::file_status s = fs::status(file, error);
    // Another model must not stand in for one that cannot be read.
    if (!fs::status_known(s)) throw FileError(file, "cannot be read: " + error.message());
    return s;
  };
  const fs::file_status whole = status(path);
  if (!fs::exists(whole)) throw FileError(path, "no such file or folder");
  if (!fs::is_directory(whole)) return path;
  for (const char* name : {"average.safetensors", "best.safetensors", "last.safetensors"}) {
    std::string file = (fs::path(path) / name).string();
    if (fs::exists(status(file))) return file;
  }
  throw FileError(path, "the folder holds no model (average, best or last.safetensors)");
}

}  // namespace glim
