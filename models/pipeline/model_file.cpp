#include "models/pipeline/model_file.hpp"

#include <filesystem>

#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/io/stored_json.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

const std::string& ModelFile::described(const std::string& name) const {
  auto entry = description.find(name);
  if (entry == description.end())
    throw FileError(file, "is not a whole checkpoint: its metadata has no '" + name + "'");
  return entry->second;
}

std::string model_file(const std::string& path) {
  namespace fs = std::filesystem;
  auto status = [](const std::string& file) {
    std::error_code error;
    const fs::file_status s = fs::status(file, error);
    // A file that cannot be read is an error. No other file is taken in its place.
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

ModelFile read_model(const std::string& path) {
  ModelFile m;
  m.file = model_file(path);
  SafeTensors stored = read_safetensors(m.file);
  auto taken = [&](const char* key) {
    auto entry = stored.metadata.extract(key);
    if (!entry)
      throw FileError(
          m.file,
          std::string("is not a checkpoint of glim train: its metadata has no '") + key + "'");
    return std::move(entry.mapped());
  };
  if (const std::string format = taken("glim"); format != kModelFormat)
    throw FileError(m.file, "has checkpoint format '" + format + "'; this program reads '" +
                                kModelFormat + "'");
  m.kind = taken("kind");
  for (const char* key : {"options", "config", "state"}) m.run[key] = taken(key);
  const auto precision =
      read_json(m.run["options"], R"({"precision": "float32"})", m.file, "training options",
                [](const auto& j) { return j.value("precision", std::string("float32")); });
  if (precision == "float64") m.precision = DType::Float64;
  m.description = std::move(stored.metadata);
  for (auto& [name, tensor] : stored.tensors) {
    if (!all_finite(tensor))
      throw FileError(m.file, "its tensor " + name +
                                  " is not finite: its training broke down, or it was changed; "
                                  "use an earlier checkpoint, or another copy");
    if (name.starts_with(kOptimizerPrefix))
      m.optimizer[name.substr(std::string_view(kOptimizerPrefix).size())] = tensor;
    else
      m.weights[name] = tensor;
  }
  return m;
}

void load_weights(Module& model, const ModelFile& m) {
  if (m.precision == DType::Float64) model.to(DType::Float64);
  load(model, m.weights, m.file);
  model.eval();
}

}  // namespace glim
