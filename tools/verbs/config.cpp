#include <fstream>

#include "tensor/error.hpp"
#include "tools/verbs/verbs.hpp"

namespace glim {

void apply_config(CLI::App& verb, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw FileError(path, "cannot be read");
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& e) {
    throw FileError(path, e.what());
  }
  if (file.bad()) throw FileError(path, "cannot be read");
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of a section
    bool here =
        item.parents.empty() || (item.parents.size() == 1 && item.parents[0] == verb.get_name());
    CLI::Option* option = here ? verb.get_option_no_throw("--" + item.name) : nullptr;
    if (!option || !option->get_configurable())
      throw FileError(path, "'" + item.fullname() + "' is no option of glim " + verb.get_name());
    if (option->count() > 0) continue;
    try {
      for (const std::string& value : item.inputs) {
        if (option->get_expected_max() == 0)  // a flag
          option->add_result(option->get_flag_value(item.name, value));
        else
          option->add_result(value);
      }
      option->run_callback();
    } catch (const CLI::Error& e) {
      throw FileError(path, e.what());
    }
  }
}

}  // namespace glim
