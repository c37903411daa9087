#include "tools/common/toml.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

#include "tensor/error.hpp"

namespace glim {

std::vector<std::pair<std::string, std::string>> read_toml(const std::string& text,
                                                           const std::string& where) {
  std::vector<std::pair<std::string, std::string>> keys;
  try {
    std::istringstream stream(text);
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(stream))
      if (!item.inputs.empty()) keys.emplace_back(item.fullname(), item.inputs[0]);
  } catch (const CLI::Error& e) {
    throw FileError(where, e.what());
  }
  return keys;
}

}  // namespace glim
