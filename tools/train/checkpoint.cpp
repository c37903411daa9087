#include "tools/train/checkpoint.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/safetensors.hpp"

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
  try {
    return nlohmann::json::parse(text).get<TrainState>();
  } catch (const nlohmann::json::exception& e) {
    throw FileError(where, std::string("its training state cannot be read: ") + e.what());
  }
}

void save_checkpoint(const std::string& path, const Checkpoint& c) {
  std::map<std::string, Tensor> tensors = c.weights;
  for (auto& [name, tensor] : c.optimizer) tensors[kOptimizer + name] = tensor;
  std::map<std::string, std::string> metadata{
      {"glim", kFormat},
      {"kind", "transformer"},
      {"model", to_json(c.model)},
      {"source_tokenizer", c.tokenizers.source->serialize()},
      {"options", c.options.to_json()},
      {"config", c.config_toml},
      {"state", c.state.to_json()}};
  if (c.tokenizers.target != c.tokenizers.source)
    metadata["target_tokenizer"] = c.tokenizers.target->serialize();
  write_safetensors(path, tensors, metadata);
}

Checkpoint load_checkpoint(const std::string& path) {
  SafeTensors file = read_safetensors(path);
  auto text = [&](const char* key) -> const std::string& {
    auto at = file.metadata.find(key);
    if (at == file.metadata.end())
      throw FileError(
          path, std::string("is not a checkpoint of glim train: its metadata lack '") + key + "'");
    return at->second;
  };
  if (text("glim") != kFormat)
    throw FileError(
        path, "has checkpoint format '" + text("glim") + "', this program reads '" + kFormat + "'");
  if (text("kind") != "transformer")
    throw FileError(path, "holds a model of kind '" + text("kind") + "', not 'transformer'");
  Checkpoint c;
  c.model = transformer_config_from_json(text("model"), path);
  c.options = TrainOptions::from_json(text("options"), path);
  c.config_toml = text("config");
  c.state = TrainState::from_json(text("state"), path);
  c.tokenizers.source =
      deserialize_tokenizer(text("source_tokenizer"), path + ": source_tokenizer");
  c.tokenizers.target =
      file.metadata.count("target_tokenizer")
          ? deserialize_tokenizer(text("target_tokenizer"), path + ": target_tokenizer")
          : c.tokenizers.source;
  if (c.tokenizers.source->size() != c.model.src_vocab ||
      c.tokenizers.target->size() != c.model.tgt_vocab)
    throw FileError(path, "its tokenizers do not have the vocabulary sizes of its model");
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
  std::error_code error;
  if (!fs::exists(path, error)) throw FileError(path, "no such file or folder");
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"average.safetensors", "best.safetensors", "last.safetensors"}) {
    std::string file = (fs::path(path) / name).string();
    if (fs::exists(file, error)) return file;
  }
  throw FileError(path, "the folder holds no model (average, best or last.safetensors)");
}

// A description is believed only as far as the file's tensors bear it out: a model of terabytes
// must not be built because a hostile header says so.
static void require_described(const Checkpoint& c, const std::string& file) {
  const TransformerConfig& m = c.model;
  auto require = [&](const std::string& name, const Shape& shape) {
    auto at = c.weights.find(name);
    if (at == c.weights.end()) throw FileError(file, "lacks the tensor " + name);
    if (at->second.shape() != shape)
      throw FileError(file, name + " has shape " + to_string(at->second.shape()) +
                                ", its model describes " + to_string(shape));
  };
  auto count = static_cast<Index>(c.weights.size());
  if (m.encoder_layers < 0 || m.decoder_layers < 1 || m.encoder_layers > count ||
      m.decoder_layers > count)
    throw FileError(file, "describes more layers than it has tensors");
  require("src_embed.weight", {m.src_vocab, m.d_model});
  require("tgt_embed.weight", {m.tgt_vocab, m.d_model});
  for (Index i = 0; i < m.encoder_layers; ++i)
    require("encoder.layers." + std::to_string(i) + ".linear1.weight", {m.d_ff, m.d_model});
  for (Index i = 0; i < m.decoder_layers; ++i)
    require("decoder.layers." + std::to_string(i) + ".linear1.weight", {m.d_ff, m.d_model});
  if (m.positions == Positions::Learned) require("src_positions.weight", {m.max_len, m.d_model});
}

LoadedModel load_model(const std::string& path) {
  std::string file = model_file(path);
  LoadedModel loaded;
  loaded.checkpoint = load_checkpoint(file);
  require_described(loaded.checkpoint, file);
  try {
    loaded.model = std::make_unique<Transformer>(loaded.checkpoint.model);
    if (loaded.checkpoint.options.precision == "float64") loaded.model->to(DType::Float64);
    loaded.model->load_state_dict(loaded.checkpoint.weights);
  } catch (const Error& e) {
    throw FileError(file, e.one_line());
  }
  loaded.model->eval();
  return loaded;
}

}  // namespace glim
