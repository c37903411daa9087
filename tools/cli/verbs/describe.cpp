// glim describe: the verbs and their options as JSON, of which tools/cli/describe/describe.py makes manual pages,
// completions and the pages of options. It is not in the list of verbs.
#include <nlohmann/json.hpp>

#include "tools/cli/help.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<std::string> choices_of(const Command& command, const char* option) {
  const Option* o = command.find(option);
  return o && !o->hidden ? o->choices : std::vector<std::string>{};
}

// The defaults of the options that depend on the kind of model and the task. The verb has kinds.
OrderedJson defaults_json(const CommandMaker& maker, const std::string& kind,
                          const std::string& task) {
  Command c = maker();
  if (!kind.empty()) set_option(*c.find("kind"), {kind});
  if (!task.empty()) set_option(*c.find("task"), {task});
  if (c.adjust) c.adjust(c);
  OrderedJson values = OrderedJson::object();
  for (const Option& o : c.options)
    if (c.applies(o) && !o.hidden) values[o.name] = o.shown_default();
  return {{"kind", kind}, {"task", task}, {"values", values}};
}

OrderedJson verb_json(const CommandMaker& maker) {
  Command command = maker();
  if (command.adjust) command.adjust(command);
  OrderedJson defaults = OrderedJson::array();
  defaults.push_back(defaults_json(maker, "", ""));
  for (const std::string& kind : choices_of(command, "kind")) {
    defaults.push_back(defaults_json(maker, kind, ""));
    for (const std::string& task : choices_of(command, "task"))
      defaults.push_back(defaults_json(maker, kind, task));
  }
  OrderedJson options = OrderedJson::array();
  for (const Option& o : command.options)
    if (!o.hidden)
      options.push_back(
          {{"name", o.name},
           {"group", group_of(o)},
           {"usage", option_usage(o)},
           {"help", o.help},
           {"full_help", o.full_help()},
           {"value", o.placeholder()},
           {"text", std::holds_alternative<std::string*>(o.field) || !o.names().empty()},
           {"list", o.is_list()},
           {"argument", o.argument},
           {"choices", o.choices},
           {"kinds", names_of(o.kinds)},
           {"in_config", o.in_config}});
  return {{"name", command.name},
          {"help", command.help},
          {"footer", command.footer},
          {"by_kind", !choices_of(command, "kind").empty()},
          {"config", command.find("config") != nullptr},
          {"help_all", command.has_usual()},
          {"options", options},
          {"defaults", defaults}};
}

}  // namespace

Command describe_command(const About& about, const std::vector<CommandMaker>& makers) {
  Command c("describe", "the verbs and their options as JSON");
  c.hidden = true;
  c.run = [about, makers](Command&) {
    OrderedJson verbs = OrderedJson::array();
    for (const CommandMaker& maker : makers) verbs.push_back(verb_json(maker));
    print_json(
        {{"name", about.name}, {"version", about.version}, {"text", about.text}, {"verbs", verbs}});
  };
  return c;
}

}  // namespace glim
