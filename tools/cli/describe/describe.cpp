#include "tools/cli/describe/describe.hpp"

#include <fmt/format.h>

namespace glim {
namespace {

const std::vector<std::string>& choices_of(const Command& command, const char* option) {
  static const std::vector<std::string> none;
  const Option* o = command.find(option);
  return o ? o->choices : none;
}

Command adjusted(const CommandMaker& maker, const std::string& kind, const std::string& task) {
  Command c = maker();
  if (!kind.empty()) set_option(*c.find("kind"), {kind});
  if (!task.empty()) set_option(*c.find("task"), {task});
  if (c.adjust) c.adjust(c);
  return c;
}

}  // namespace

DescribedCommand::DescribedCommand(const CommandMaker& maker) : command(adjusted(maker, "", "")) {
  const auto &kinds = choices_of(command, "kind"), &tasks = choices_of(command, "task");
  if (kinds.empty()) {
    for (const Option& o : command.options) defaults[o.name] = o.shown_default();
    return;
  }
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> found;  // value, kinds
  for (const std::string& kind : kinds) {
    Command usual = adjusted(maker, kind, "");
    for (const Option& o : usual.options) {
      std::string value = o.name == "kind" ? kinds[0] : o.shown_default();
      if (!usual.applies(o) || value.empty()) continue;
      auto& list = found[o.name];
      auto same = list.begin();
      while (same != list.end() && same->first != value) ++same;
      if (same == list.end())
        list.emplace_back(value, kind);
      else
        same->second += ", " + kind;
    }
    for (const std::string& task : tasks) {
      Command c = adjusted(maker, kind, task);
      std::string options;
      for (const Option& o : c.options)
        if (std::string value = o.shown_default();
            !o.given && c.applies(o) && value != usual.find(o.name)->shown_default())
          options += fmt::format("{}{} {}", options.empty() ? "" : ", ", o.name,
                                 value.empty() ? "not given" : value);
      if (!options.empty()) recipes.push_back({kind, task, options});
    }
  }
  for (auto& [name, list] : found) {
    std::string& text = defaults[name];
    for (auto& [value, of] : list) text += text.empty() ? value : fmt::format("; {} {}", of, value);
  }
}

}  // namespace glim
