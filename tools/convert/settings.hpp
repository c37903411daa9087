// The settings of a file of weights: the JSON object `config` of its metadata, or config.json in
// its folder, as Hugging Face writes it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nn/activation.hpp"
#include "tools/convert/formats.hpp"

namespace glim {

class Settings {
 public:
  // FileError unless it is a JSON object.
  static Settings of(const std::map<std::string, std::string>& metadata, const std::string& file);

  // None where there is no such member (or null); FileError for one of another type, and for numbers that are
  // no sizes.
  std::optional<std::int64_t> number(const char* key) const;  // from 1 on
  std::optional<std::int64_t> count(const char* key) const;   // from 0 on
  std::optional<double> share(const char* key) const;         // from 0 to 1
  std::optional<bool> flag(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  [[noreturn]] void refuse(const char* key, const char* expected) const;

  // A setting that the weights say, too.
  struct Size {
    const char* key;
    std::int64_t value;
  };
  // FileError for a setting that makes another model of it: a size that is not that of the weights, or a value that
  // Glim's model has not. The settings that nothing is known of, by name.
  std::vector<std::string> require_known(const Format& format,
                                         const std::vector<Size>& sizes) const;
  const std::string& where() const { return where_; }

 private:
  template <class T, class Fits>
  std::optional<T> get(const char* key, const char* expected, const Fits& fits) const;
  std::string where_;
  nlohmann::json json_ = nlohmann::json::object();
};

// The activation by our name, or by the one that torch or Hugging Face has for it. FileError for another name, with `where`,
// the file that has it.
Activation activation_of(const std::string& name, const std::string& where);

// `path`, or in a folder its model.safetensors.
std::string weights_file(const std::string& path);
// FileError with the line that converts it, for a file of torch.save.
void refuse_pickle(const std::string& file);

}  // namespace glim
