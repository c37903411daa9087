// glim describe: the verbs and their options as manual pages, completions and tables, for the installation and
// for the pages. It is not in the list of verbs.
#include "tools/cli/describe/describe.hpp"

#include <memory>

#include "tools/cli/verbs/verbs.hpp"

namespace glim {
namespace {

void run_describe(const Description& all, const std::vector<std::string>& words) {
  const std::string what = words[0], verb = words.size() > 1 ? words[1] : "";
  using Text = std::string (*)(const Description&);
  static const std::pair<const char*, Text> texts[] = {
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion},
      {"options", options_page}, {"man", manual_page},    {"configuration", configuration_page}};
  if (words.size() == 1)
    for (auto& [name, text] : texts)
      if (what == name) return print(text(all));
  for (const DescribedCommand& v : all.verbs) {
    if (what == "verbs") print(v.command.name + "\n");
    if (what == "names" && verb == v.command.name)
      for (const Option& o : v.command.options)
        if (!o.argument && !o.hidden) print(o.name + "\n");
    if (what == "man" && verb == v.command.name) return print(manual_page(all, v));
  }
  if (what != "verbs" && what != "names")
    throw UsageError(
        "describe takes man [VERB], bash, zsh, fish, options, configuration, verbs or names VERB");
}

}  // namespace

Command describe_command(const About& about, const std::vector<CommandMaker>& makers) {
  Command c("describe", "the options as manual pages, completions and tables");
  c.hidden = true;
  auto words = std::make_shared<std::vector<std::string>>();
  c.argument("what", words.get(),
             "man [VERB], bash, zsh, fish, options, configuration, verbs or names VERB")
      .required = true;
  c.run = [words, about, makers](Command&) {
    Description all{about, {}};
    for (const CommandMaker& maker : makers) all.verbs.emplace_back(maker);
    run_describe(all, *words);
  };
  return c;
}

}  // namespace glim
