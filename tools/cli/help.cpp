#include "tools/cli/help.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tools/common/ascii.hpp"

namespace glim {
namespace {

// `left`, then the words of `text` in the columns from kIndent on.
std::string entry(const std::string& left, const std::string& text) {
  constexpr std::size_t kIndent = 30;
  const std::size_t width = 2 + display_width(left);
  const bool fits = width + 2 <= kIndent;
  return "  " + left + (fits ? "" : "\n") + std::string(fits ? kIndent - width : kIndent, ' ') +
         wrapped(text, kIndent) + "\n";
}

std::string option_entry(const Option& o) {
  std::string text = o.full_help(), value = o.shown_default();
  if (o.required) text += " (must be given)";
  if (!value.empty()) text += " (default: " + value + ")";
  return entry(option_usage(o), text);
}

}  // namespace

std::string option_usage(const Option& o) {
  if (o.argument) {
    std::string capitals = o.name;
    for (char& c : capitals) c = upper(c);
    return o.is_list() ? capitals + "..." : capitals;
  }
  std::string value = o.placeholder();
  return "--" + o.name + (value.empty() ? "" : " " + value) +
         (o.is_list() ? o.delimiter ? fmt::format("{}...", o.delimiter) : "..." : "");
}

std::string group_of(const Option& o) {
  return o.argument ? "Arguments" : o.group.empty() ? "Options" : o.group;
}

std::vector<OptionGroup> option_groups(const Command& command) {
  std::vector<OptionGroup> groups;
  for (const Option& o : command.options) {
    if (o.hidden || !command.applies(o)) continue;
    const std::string name = group_of(o);
    auto g = std::find_if(groups.begin(), groups.end(), [&](auto& x) { return x.name == name; });
    if (g == groups.end()) g = groups.insert(groups.end(), {name, {}});
    g->options.push_back(&o);
  }
  return groups;
}

std::string program_help(const About& about, const std::vector<Command>& commands) {
  std::string text = about.text + "\nVerbs:\n";
  for (const Command& c : commands)
    if (!c.hidden) text += entry(c.name, c.help);
  return text +
         fmt::format("\n{0} help VERB   the options of a verb, as {0} VERB --help\n{0} --version\n",
                     about.name);
}

std::string verb_help(const About& about, const Command& command, bool all) {
  std::string call = about.name + " " + command.name, usage = call;
  std::size_t count = 0;
  for (const OptionGroup& g : option_groups(command)) count += g.options.size();
  for (const Option& o : command.options)
    if (o.argument) usage += o.required ? " " + option_usage(o) : " [" + option_usage(o) + "]";
  std::string text = call + ": " + command.help + "\n\nUsage: " + usage + " [OPTIONS]\n";
  bool few = !all && command.has_usual();
  const Option* kind = command.find("kind");
  if (kind && kind->hidden) kind = nullptr;
  std::string chosen = kind && !kind->kinds.empty() ? "" : kind ? kind->shown_default() : "";
  const Option* task = command.find("task");
  if (!chosen.empty() && task)
    text +=
        fmt::format("Defaults are those of --kind {} --task {}.\n", chosen, task->shown_default());
  if (few) {
    text += "\nThe options that matter first:\n";
    for (const Option& o : command.options)
      if (o.usual && command.applies(o)) text += option_entry(o);
    text += "\n";
    text += entry("--help-all", fmt::format("all {} options, by group", count));
  } else {
    for (const OptionGroup& g : option_groups(command)) {
      text += "\n" + g.name + ":\n";
      for (const Option* o : g.options) text += option_entry(*o);
    }
    text += "\n";
  }
  text += entry("--help", "this text");
  if (command.find("config"))
    text += entry("--show-config",
                  "print the options of this command line as a configuration file, with "
                  "where each value comes from");
  if (!command.footer.empty()) text += "\n" + command.footer + "\n";
  return text;
}

}  // namespace glim
