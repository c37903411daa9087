#include "tools/cli/suggest.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tools/common/ascii.hpp"
#include "tools/common/nearest.hpp"

namespace glim {

extern const std::string_view kOtherWords;  // other_words.txt

namespace {

// Each meaning of another program's word: a line "KIND WORDS = MEANING" gives it.
std::vector<std::string_view> meanings(std::string_view kind, const std::string& word) {
  std::vector<std::string_view> found;
  for (std::string_view rest = kOtherWords; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    const std::size_t equals = line.find(" = ");
    const auto words = split_spaces(line.substr(0, equals));
    if (words[0] == kind && std::find(words.begin() + 1, words.end(), word) != words.end())
      found.push_back(line.substr(equals + 3));
  }
  return found;
}

std::string plain(const std::string& name) {
  std::string r;
  for (char c : name) r += c == '_' || c == '.' ? '-' : lower(c);
  return r;
}

std::vector<std::string> names_of(const Command& command) {
  std::vector<std::string> names;
  for (const Option& o : command.options)
    if (!o.argument && !o.hidden) names.push_back(o.name);
  return names;
}

// The option that a name means to this command, in other programs' words or misspelt.
const Option* meant_option(const Command& command, const std::string& name, bool misspelt) {
  std::string key = plain(name);
  const Option* found = command.find(key);
  for (std::string_view means : meanings("option", key))
    for (std::string_view word : split_spaces(means))
      if (!found) found = command.find(word);
  if (!found && misspelt) found = command.find(meant_name(key, names_of(command)));
  return found && !(found->argument && misspelt) && !found->hidden ? found : nullptr;
}

std::string shown(const Option& option, bool in_config) {
  return (in_config ? "" : "--") + option.name + " (" + option.help + ")";
}

}  // namespace

std::string about_option(const Command& command, const std::vector<Command>& all,
                         const std::string& name, bool in_config) {
  std::string key = plain(name);
  if (key.starts_with("no-"))
    if (const Option* o = command.find(key.substr(3)); o && o->is_flag())
      return fmt::format(": --{} is off unless it is given; --{}=false says so", o->name, o->name);
  if (const Option* o = meant_option(command, name, false))
    return o->argument ? ": glim " + command.name + " takes it without a name (" + o->help + ")"
                       : ": did you mean " + shown(*o, in_config) + "?";
  for (std::string_view answer : meanings("answer", key)) return fmt::format(": {}", answer);
  std::string owners;
  for (const Command& c : all)
    if (!c.hidden && c.name != command.name)
      if (const Option* o = c.find(key); o && !o->argument)
        owners += (owners.empty() ? "glim " : ", ") + c.name;
  if (const Option* o = meant_option(command, name, true)) {
    // An option of another verb by its full name is no misspelling, unless one letter does it.
    if (owners.empty() || edit_distance(key, o->name) <= 1)
      return ": did you mean " + shown(*o, in_config) + "?";
  }
  if (!owners.empty()) return ": it is an option of " + owners;
  return "; glim " + command.name + " --help lists the options";
}

std::string about_verb(const std::vector<Command>& all, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& c : all)
    if (!c.hidden) names.push_back(c.name);
  std::string meant, key = plain(name);
  for (std::string_view verb : meanings("verb", key))
    if (std::find(names.begin(), names.end(), verb) != names.end()) meant = verb;
  if (meant.empty()) meant = meant_name(name, names);
  if (!meant.empty()) return fmt::format(": did you mean {}?", meant);
  return fmt::format("; the verbs are {}", fmt::join(names, ", "));
}

std::string about_word(const Command& command, const std::vector<Command>& all,
                       const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  // "lr=0.1", "-epochs", "–epochs": an option without its dashes, or with others'.
  std::size_t letters = name.find_first_not_of("-");
  for (std::string_view dash : {"–", "—", "−"})
    if (name.starts_with(dash)) letters = name.find_first_not_of("-", dash.size());
  name = letters == std::string::npos ? "" : name.substr(letters);
  std::string value =
      word.find('=') == std::string::npos ? "" : " " + word.substr(word.find('=') + 1);
  bool dashed = letters != 0, assigned = !value.empty();
  if (const Option* o = meant_option(command, name, dashed || assigned); o && !o->argument)
    return fmt::format(": did you mean --{}{} ({})?", o->name, value, o->help);
  if (dashed && name.size() > 1) return about_option(command, all, name);
  for (const Option& o : command.options)
    if (std::find(o.choices.begin(), o.choices.end(), word) != o.choices.end())
      return fmt::format(": did you mean --{} {}?", o.name, word);
  if (word == "true" || word == "false")
    return ": a flag has no word after it; its value is given as --flag=" + word;
  if (!command.words_are.empty()) return "; " + command.words_are;
  if (const Option* model = command.find("model"))
    return fmt::format(": did you mean --{} {}?", model->name, word);
  return fmt::format("; options begin with --, glim {} --help lists them", command.name);
}

}  // namespace glim
