#include "tools/convert/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/common/folder.hpp"

namespace glim {

using Json = nlohmann::json;

Settings Settings::of(const std::map<std::string, std::string>& metadata, const std::string& file) {
  Settings s;
  s.where_ = file;
  std::string text;
  if (auto entry = metadata.find("config"); entry != metadata.end()) {
    text = entry->second;
    s.where_ = file + ": the config in its metadata";
  } else {
    std::filesystem::path config_file = std::filesystem::path(file).parent_path() / "config.json";
    if (!is_there(config_file.string())) return s;
    InputFile config(config_file.string());
    constexpr std::uint64_t kMost = 1'000'000;
    if (config.size() > kMost)
      config.fail("has more than 1 MB, which is no configuration of a model");
    text = config.read_text(0, static_cast<std::size_t>(config.size()));
    s.where_ = config_file.string();
  }
  s.json_ = parse_json(text, /*allow_exceptions=*/false);
  if (!s.json_.is_object()) throw FileError(s.where_, "is not a JSON object");
  // transformers' other names of the same settings.
  const bool gpt2 = s.json_.value("model_type", Json()) == "gpt2";
  const bool marian = s.json_.value("model_type", Json()) == "marian";
  for (auto [other, name] : {std::pair("hidden_size", gpt2 ? "n_embd" : "d_model"),
                             {"num_attention_heads", gpt2 ? "n_head" : "encoder_attention_heads"},
                             {"max_position_embeddings", gpt2 ? "n_positions" : ""},
                             {"num_hidden_layers", gpt2 ? "n_layer" : ""}})
    if ((gpt2 || marian) && *name && s.json_.contains(other)) {
      s.json_[name] = s.json_[other];
      s.json_.erase(other);
    }
  return s;
}

void Settings::refuse(const char* key, const char* expected) const {
  throw FileError(where_, "its '" + std::string(key) + "' is not " + expected);
}

template <class T, class Fits>
std::optional<T> Settings::get(const char* key, const char* expected, const Fits& fits) const {
  auto entry = json_.find(key);
  if (entry == json_.end() || entry->is_null()) return {};
  if (!fits(*entry)) refuse(key, expected);
  return entry->get<T>();
}

static auto whole_from(int least) {
  return [least](const Json& j) {
    return j.is_number_integer() && j.get<double>() >= least && j.get<double>() <= 1 << 30;
  };
}
std::optional<std::int64_t> Settings::number(const char* key) const {
  return get<std::int64_t>(key, "a whole number from 1 on", whole_from(1));
}
std::optional<std::int64_t> Settings::count(const char* key) const {
  return get<std::int64_t>(key, "a whole number from 0 on", whole_from(0));
}
std::optional<double> Settings::share(const char* key) const {
  return get<double>(key, "a number from 0 to 1", [](const Json& j) {
    return j.is_number() && j.get<double>() >= 0 && j.get<double>() <= 1;
  });
}
std::optional<bool> Settings::flag(const char* key) const {
  return get<bool>(key, "true or false", [](const Json& j) { return j.is_boolean(); });
}
std::optional<std::string> Settings::text(const char* key) const {
  return get<std::string>(key, "a text", [](const Json& j) { return j.is_string(); });
}

std::vector<std::string> Settings::require_known(const Format& format,
                                                 const std::vector<Size>& sizes) const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : json_.items()) {
    if (value.is_null() || format.known.contains(key)) continue;
    bool found = false;
    for (const auto& [name, only] : format.only) {
      if (key != name) continue;
      found = true;
      if (value != Json::parse(only))
        throw FileError(where_, fmt::format("its '{}' is {}; Glim reads models where it is {}", key,
                                            value.dump(), only));
    }
    for (const Size& size : sizes) {
      if (key != size.key) continue;
      found = true;
      if (value != size.value)
        throw FileError(where_,
                        fmt::format("its '{}' is {}, the weights say {}; both must be of one model",
                                    key, value.dump(), size.value));
    }
    if (!found) unknown.push_back(key);
  }
  return unknown;
}

Activation activation_of(const std::string& name, const std::string& where) {
  static const std::pair<const char*, Activation> kTheirs[] = {
      {"relu", Activation::Relu},
      {"gelu", Activation::Gelu},
      {"gelu_python", Activation::Gelu},
      {"gelu-tanh", Activation::GeluTanh},
      {"gelu_new", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh},
      {"gelu_accurate", Activation::GeluTanh},
      {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"silu", Activation::Silu},
      {"swish", Activation::Silu}};
  std::string known;
  for (auto& [theirs, ours] : kTheirs) {
    if (name == theirs) return ours;
    known += (known.empty() ? "" : ", ") + std::string(theirs);
  }
  throw FileError(where, "its activation '" + name + "' is not one that Glim has: " + known);
}

std::string weights_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  return (std::filesystem::path(path) / "model.safetensors").string();
}

void refuse_pickle(const std::string& file) {
  InputFile in(file);
  std::string start =
      in.read_text(0, static_cast<std::size_t>(std::min<std::uint64_t>(in.size(), 9)));
  bool header = start.size() == 9 && start[8] == '{';  // whose length may begin with the same bytes
  if (header || !(start.starts_with("PK") || start.starts_with('\x80'))) return;
  in.fail(
      "was written by torch.save; write it as safetensors: python3 -c \"import torch; from "
      "safetensors.torch "
      "import save_file; save_file({k: v.contiguous().clone() for k, v in "
      "torch.load('FILE').items()}, "
      "'FILE.safetensors')\" (models/pytorch.md says more)");
}

}  // namespace glim
