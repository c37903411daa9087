// The pages of options, in Markdown.
#include <fmt/format.h>

#include "tools/cli/describe/describe.hpp"
#include "tools/cli/help.hpp"

namespace glim {
namespace {

std::string cell(const std::string& text) {
  std::string r;
  for (char c : text) r += c == '|' ? "\\|" : c == '<' ? "&lt;" : std::string(1, c);
  return r;
}

std::string generated(const Description& all, const char* what) {
  return fmt::format("Made by `{} describe {}`, from the program's own tables.\n", all.about.name,
                     what);
}

}  // namespace

std::string options_page(const Description& all) {
  const std::string& name = all.about.name;
  std::string page = "# Every option of every verb\n\n" + generated(all, "options");
  page += fmt::format(
      "`{0} VERB --help` says the same of one verb, `{0} train --kind gpt --help` with the "
      "defaults of one "
      "kind\nof model. Where kinds differ, the first default is the Transformer's. Options without "
      "a default are off or empty.\n",
      name);
  for (const DescribedCommand& v : all.verbs) {
    const Command& c = v.command;
    page += fmt::format("\n## {} {}\n\n{}\n", name, c.name, c.help);
    bool by_kind = c.find("kind");
    for (const OptionGroup& group : option_groups(c, true)) {
      page += fmt::format("\n| {} | meaning | default |{}\n|---|---|---|{}\n", group.name,
                          by_kind ? " kinds |" : "", by_kind ? "---|" : "");
      for (const Option* o : group.options) {
        auto d = v.defaults.find(o->name);
        page += fmt::format("| `{}` | {} | {} |", option_usage(*o), cell(o->full_help()),
                            cell(d == v.defaults.end() ? "" : d->second));
        if (by_kind) page += " " + o->kinds + " |";
        page += "\n";
      }
    }
    if (v.recipes.empty()) continue;
    page += "\nWhat differs with other tasks:\n\n| kind | task | defaults |\n|---|---|---|\n";
    for (const auto& r : v.recipes)
      page += fmt::format("| {} | {} | {} |\n", r.kind, r.task, cell(r.options));
  }
  return page;
}

std::string configuration_page(const Description& all) {
  const std::string& name = all.about.name;
  std::string page = "# Configuration files\n\n" + generated(all, "configuration");
  page += fmt::format(R"(
A configuration is a file of `name = value` lines, in TOML: text in quotes, numbers, `true` and `false`, lists in
brackets, comments behind `#`. The names are those of the options without their dashes. They are under no table
or under that of the verb, `[train]`. The command line overrides the file. Other options have the default of the
kind of model and of the task.

```sh
{0} train --kind gpt --text README.md --show-config >run.toml     # every value, and where it comes from
{0} train --config run.toml --seed 2 --max-steps 20 --out short   # --seed of the command line is used
```

A run leaves its own in `config.toml` beside the model. An unknown name or table, a value out of its range and
an option of another kind of model are refused with file and line.
)",
                      name);
  for (const DescribedCommand& v : all.verbs) {
    const Command& c = v.command;
    if (!c.find("config")) continue;
    page += fmt::format("\n## {} {} --config FILE\n", name, c.name);
    for (const OptionGroup& group : option_groups(c, true)) {
      std::string rows;
      for (const Option* o : group.options) {
        if (!o->in_config) continue;
        std::string type = o->is_flag()                                     ? "true or false"
                           : o->is_list()                                   ? "list of texts"
                           : std::holds_alternative<std::string*>(o->field) ? "text"
                           : o->placeholder() == "X"                        ? "number"
                                                                            : "whole number";
        auto d = v.defaults.find(o->name);
        rows += fmt::format("| `{}` | {} | {} | {} | {} |\n", o->name, type, cell(o->full_help()),
                            o->kinds, cell(d == v.defaults.end() ? "" : d->second));
      }
      if (!rows.empty())
        page += fmt::format("\n| {} | value | meaning | kinds | default |\n|---|---|---|---|---|\n",
                            group.name) +
                rows;
    }
  }
  return page;
}

}  // namespace glim
