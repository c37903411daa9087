// What can be said of the verbs and their options, from their lists: manual pages, completions for shells and
// the pages of options. `meson install` has the first two made by `glim describe`; the pages are checked in,
// and tests/tools/cli/options.sh holds them equal.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/cli/command.hpp"
#include "tools/cli/command_line.hpp"

namespace glim {

using CommandMaker = std::function<Command()>;

// A verb with what its options are unless given.
struct DescribedCommand {
  explicit DescribedCommand(const CommandMaker& maker);

  Command command;
  // By option: "2; rnn, classifier 1; conv 3", the first kind's and those that differ.
  std::map<std::string, std::string> defaults;
  // By kind and task, the options that differ from those of the kind's first task.
  struct Recipe {
    std::string kind, task, options;
  };
  std::vector<Recipe> recipes;
};

struct Description {
  About about;
  std::vector<DescribedCommand> verbs;
};

std::string manual_page(const Description& all);  // glim.1
std::string manual_page(const Description& all, const DescribedCommand& verb);
std::string bash_completion(const Description& all);
std::string zsh_completion(const Description& all);
std::string fish_completion(const Description& all);
std::string options_page(const Description& all);
std::string configuration_page(const Description& all);

}  // namespace glim
