// glim describe: the verbs and their options as JSON, of which tools/cli/describe/describe.py makes manual pages,
// completions and the pages of options. It is not in the list of verbs.
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/help.hpp"
#include "tools/cli/verbs/verbs.hpp"

namespace glim {
namespace {

using Json = nlohmann::ordered_json;

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

// The values of an option that is not given, with the kinds that have each: "2; rnn, classifier 1; conv 3", the first
// kind's and those that differ.
using Defaults = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;

void add_default(Defaults& defaults, const Option& o, const std::string& kind) {
  const std::string value = o.shown_default();
  if (value.empty()) return;
  auto& list = defaults[o.name];
  for (auto& [same, kinds] : list)
    if (same == value) return void(kinds += ", " + kind);
  list.emplace_back(value, kind);
}

std::string default_text(const Defaults& defaults, const std::string& option) {
  std::string text;
  if (const auto found = defaults.find(option); found != defaults.end())
    for (const auto& [value, kinds] : found->second)
      text += text.empty() ? value : fmt::format("; {} {}", kinds, value);
  return text;
}

Json verb_json(const CommandMaker& maker) {
  const Command command = adjusted(maker, "", "");
  Defaults defaults;
  Json recipes = Json::
      array();  // by kind and task, the options that differ from those of the kind's first task
  const auto &kinds = choices_of(command, "kind"), &tasks = choices_of(command, "task");
  if (kinds.empty())
    for (const Option& o : command.options) add_default(defaults, o, "");
  for (const std::string& kind : kinds) {
    const Command usual = adjusted(maker, kind, "");
    for (const Option& o : usual.options)
      if (usual.applies(o))
        add_default(defaults, o.name == "kind" ? *command.find("kind") : o, kind);
    for (const std::string& task : tasks) {
      const Command c = adjusted(maker, kind, task);
      std::vector<std::string> differ;
      for (const Option& o : c.options)
        if (const std::string value = o.shown_default();
            !o.given && c.applies(o) && value != usual.find(o.name)->shown_default())
          differ.push_back(o.name + " " + (value.empty() ? "not given" : value));
      if (!differ.empty())
        recipes.push_back({{"kind", kind},
                           {"task", task},
                           {"options", fmt::format("{}", fmt::join(differ, ", "))}});
    }
  }
  Json options = Json::array();
  for (const Option& o : command.options)
    if (!o.hidden)
      options.push_back({{"name", o.name},
                         {"group", group_of(o)},
                         {"usage", option_usage(o)},
                         {"help", o.help},
                         {"full_help", o.full_help()},
                         {"value", o.placeholder()},
                         {"text", std::holds_alternative<std::string*>(o.field)},
                         {"list", o.is_list()},
                         {"argument", o.argument},
                         {"choices", o.choices},
                         {"kinds", o.kinds},
                         {"default", default_text(defaults, o.name)},
                         {"in_config", o.in_config}});
  return {{"name", command.name},
          {"help", command.help},
          {"footer", command.footer},
          {"by_kind", command.find("kind") != nullptr},
          {"config", command.find("config") != nullptr},
          {"help_all", command.has_usual()},
          {"options", options},
          {"recipes", recipes}};
}

}  // namespace

Command describe_command(const About& about, const std::vector<CommandMaker>& makers) {
  Command c("describe", "the verbs and their options as JSON");
  c.hidden = true;
  c.run = [about, makers](Command&) {
    Json verbs = Json::array();
    for (const CommandMaker& maker : makers) verbs.push_back(verb_json(maker));
    print_json(
        {{"name", about.name}, {"version", about.version}, {"text", about.text}, {"verbs", verbs}});
  };
  return c;
}

}  // namespace glim
