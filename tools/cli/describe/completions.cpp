// What a shell offers at the tab key: verbs, options, choices, files.
#include <fmt/format.h>

#include "tools/cli/describe/describe.hpp"

namespace glim {
namespace {

std::string joined_verbs(const Description& all) {
  std::string names;
  for (const DescribedCommand& v : all.verbs) names += v.command.name + " ";
  return names + "help";
}

bool names_files(const Option& o) {
  std::string value = o.placeholder();
  return value == "FILE" || value == "FOLDER" || value == "TEXT";
}

// In single quotes for a shell; zsh's _arguments reads : [ ] itself.
std::string single_quoted(const std::string& text, bool zsh) {
  std::string r = "'";
  for (char c : text) {
    if (c == '\'')
      r += "'\\''";
    else if (c == '\\' || (zsh && (c == ':' || c == '[' || c == ']')))
      r += std::string("\\") + c;
    else
      r += c;
  }
  return r + "'";
}

std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string bash_completion(const Description& all) {
  const std::string& name = all.about.name;
  std::string options, values;  // by verb, and by verb and option
  for (const DescribedCommand& v : all.verbs) {
    const Command& c = v.command;
    std::string list, files, arguments;
    for (const Option& o : c.options) {
      if (o.argument && !o.choices.empty())
        arguments = fmt::format(" arguments='{}'", spaced(o.choices));
      if (o.argument || o.hidden) continue;
      list += "--" + o.name + " ";
      std::string word = c.name + "\\ --" + o.name;
      if (!o.choices.empty())
        values += fmt::format("    {}) words='{}' ;;\n", word, spaced(o.choices));
      else if (names_files(o))
        files += (files.empty() ? "" : " | ") + word;
      else if (!o.is_flag())
        values += fmt::format("    {}) return ;;\n", word);
    }
    if (c.find("config")) list += "--show-config ";
    if (c.has_usual()) list += "--help-all ";
    options += fmt::format("    {}) options='{}--help'{} ;;\n", c.name, list, arguments);
    if (!files.empty()) values += "    " + files + ") files=1 ;;\n";
  }
  return fmt::format(R"(# Completions of {0} for bash, made by `{0} describe bash`.
_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}}
  local options= words= files= arguments=
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [ "$verb" = help ]; then
    mapfile -t COMPREPLY < <(compgen -W '{1}' -- "$cur")
    return
  fi
  # --norm=pre comes as three words
  if [ "$cur" = = ]; then cur= ; elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  case $verb in
{2}  esac
  case "$verb $before" in
{3}  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  elif [ -z "$files" ] && [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [ -z "$files" ] && [ -n "$arguments" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$arguments" -- "$cur")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}
complete -F _{0} {0}
)",
                     name, joined_verbs(all), options, values);
}

std::string zsh_completion(const Description& all) {
  const std::string& name = all.about.name;
  std::string verbs, cases;
  for (const DescribedCommand& v : all.verbs) {
    const Command& c = v.command;
    verbs += "    " + single_quoted(c.name + ":" + c.help, false) + "\n";
    cases += "    " + c.name + ")\n      _arguments";
    for (const Option& o : c.options) {
      if (o.hidden) continue;
      if (o.argument) {
        cases += " \\\n        '*:" + o.name + ":" +
                 (o.choices.empty() ? "_files" : "(" + spaced(o.choices) + ")") + "'";
        continue;
      }
      std::string spec = "--" + o.name + (o.is_flag() ? "" : "=") + "[";
      std::string help = single_quoted(o.help, true);
      std::string action;
      if (!o.choices.empty())
        action = ":" + o.placeholder() + ":(" + spaced(o.choices) + ")";
      else if (!o.is_flag())
        action = ":" + o.placeholder() + ":" + (names_files(o) ? "_files" : " ");
      cases += " \\\n        '" + spec + help.substr(1, help.size() - 2) + "]" + action + "'";
    }
    if (c.find("config")) cases += " \\\n        '--show-config[print the configuration]'";
    if (c.has_usual()) cases += " \\\n        '--help-all[all options]'";
    cases += " \\\n        '--help[the options]'\n      ;;\n";
  }
  return fmt::format(R"(#compdef {0}
# Completions of {0} for zsh, made by `{0} describe zsh`.
_{0}() {{
  local -a verbs
  verbs=(
{1}    'help:the options of a verb'
  )
  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{2}  esac
}}
_{0} "$@"
)",
                     name, verbs, cases);
}

std::string fish_completion(const Description& all) {
  const std::string& name = all.about.name;
  std::string text =
      fmt::format("# Completions of {0} for fish, made by `{0} describe fish`.\n", name);
  std::string none = fmt::format("complete -c {} -n 'not __fish_seen_subcommand_from {}' -f", name,
                                 joined_verbs(all));
  for (const DescribedCommand& v : all.verbs)
    text += none + " -a " + v.command.name + " -d " + single_quoted(v.command.help, false) + "\n";
  text += none + " -a help -d 'the options of a verb'\n";
  for (const DescribedCommand& v : all.verbs) {
    const Command& c = v.command;
    std::string here =
        fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", name, c.name);
    for (const Option& o : c.options) {
      if (o.argument && !o.choices.empty())
        text += here + " -f -a " + single_quoted(spaced(o.choices), false) + "\n";
      if (o.argument || o.hidden) continue;
      std::string value = !o.choices.empty() ? " -x -a " + single_quoted(spaced(o.choices), false)
                          : o.is_flag()      ? ""
                          : names_files(o)   ? " -r -F"
                                             : " -x";
      text += here + " -l " + o.name + value + " -d " + single_quoted(o.help, false) + "\n";
    }
    if (c.find("config")) text += here + " -l show-config -d 'print the configuration'\n";
    if (c.has_usual()) text += here + " -l help-all -d 'all options'\n";
    text += here + " -l help -d 'the options'\n";
  }
  return text;
}

}  // namespace glim
