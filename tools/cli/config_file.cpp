#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/help.hpp"
#include "tools/cli/suggest.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/toml.hpp"

namespace glim {

void apply_config(Command& command, const std::vector<Command>& all, const std::string& path) {
  InputFile file(path);  // no pipe and no device, which may have no end
  constexpr std::uint64_t kMost = 1'000'000;
  if (file.size() > kMost)
    file.fail("has " + std::to_string(file.size()) + " bytes, a configuration has 1 MB at most");
  std::string text = file.read_text(0, static_cast<std::size_t>(file.size()));
  std::map<const Option*, int> lines;  // where each was set
  for (const TomlEntry& e : parse_toml(text, path)) {
    const std::string place = path + ":" + std::to_string(e.line);
    if (!e.table.empty() && e.table != command.name)
      throw FileError(place,
                      fmt::format("'[{}]' is no table of glim {}: its options are under [{}], or "
                                  "under no table",
                                  e.table, command.name, command.name));
    if (e.is_table) continue;
    Option* o = command.find(e.key);
    if (!o || o->argument)
      throw FileError(place, fmt::format("'{}' is no option of glim {}{}", e.key, command.name,
                                         about_option(command, all, e.key, true)));
    if (!o->in_config)
      throw FileError(place, fmt::format("{} is for the command line: --{}", o->name, o->name));
    if (auto [before, first] = lines.emplace(o, e.line); !first)
      throw FileError(place,
                      fmt::format("{} is given in line {} already", o->name, before->second));
    if (o->is_set) continue;
    const bool takes_text = std::holds_alternative<std::string*>(o->field) ||
                            std::holds_alternative<Choice>(o->field) ||
                            std::holds_alternative<std::vector<std::string>*>(o->field);
    if (e.quoted && !takes_text)
      throw FileError(place, o->name + ": leave out the quotation marks, which make it a text");
    if (e.values.size() > 1 && !o->is_list())
      throw FileError(place, o->name + ": takes one value, not a list of them");
    if (std::string problem = set_option(*o, e.values); !problem.empty())
      throw FileError(place, o->name + ": " + problem);
    o->origin = place;
  }
}

std::string effective_config(const About& about, const Command& command) {
  std::string text = fmt::format("# Options of {0} {1}; {0} {1} --config FILE takes them again.\n",
                                 about.name, command.name);
  for (const OptionGroup& group : option_groups(command)) {
    std::string lines;
    for (const Option* o : group.options) {
      std::string value = toml_value(*o);
      if (!o->in_config || (!o->is_set && (value.empty() || value == "\"\"" || value == "[]")))
        continue;
      lines += fmt::format("{:<40} # {}\n", o->name + " = " + value,
                           o->origin.empty() ? "default" : visible(o->origin));
    }
    if (!lines.empty()) text += "\n# " + group.name + "\n" + lines;
  }
  return text;
}

}  // namespace glim
