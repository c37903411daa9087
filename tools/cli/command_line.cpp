#include "tools/cli/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tools/cli/help.hpp"
#include "tools/cli/suggest.hpp"
#include "tools/common/output.hpp"
#include "tools/data/corpus/records.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

constexpr const char* kCommandLine = "command line";

// The words behind a verb, sorted.
struct Line {
  std::vector<Option*> options;
  bool help = false, help_all = false, show_config = false;
};

class WordReader {
 public:
  WordReader(Command& command, const std::vector<Command>& all, std::vector<std::string> words)
      : command_(command), all_(all), words_(std::move(words)) {}

  Line read() {
    while (pos_ < words_.size()) {
      const std::string word = words_[pos_++];
      if (!only_words_ && word == "--")
        only_words_ = true;
      else if (!only_words_ && word.starts_with("--"))
        option(word.substr(2));
      else if (!only_words_ && word == "-h")
        line_.help = true;
      else
        argument(word);
    }
    return std::move(line_);
  }

 private:
  bool is_option(const std::string& word) const { return !only_words_ && word.starts_with("--"); }

  void take(Option& o, std::vector<std::string> values) {
    if (o.delimiter) {
      std::vector<std::string> parts;
      for (const std::string& v : values)
        for (const std::string& part : divided(v, o.delimiter)) parts.push_back(part);
      values = std::move(parts);
    }
    if (o.typed.empty()) line_.options.push_back(&o);
    if (o.is_flag()) o.typed.clear();  // said twice, meant once
    o.typed.insert(o.typed.end(), values.begin(), values.end());
  }

  void option(const std::string& text) {
    std::size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    std::vector<std::string> values;
    if (equals != std::string::npos) values.push_back(text.substr(equals + 1));
    if (name == "help" || name == "help-all") {
      (name == "help" ? line_.help : line_.help_all) = true;
      return;
    }
    if (name == "show-config" && command_.find("config")) {
      line_.show_config = true;
      return;
    }
    Option* o = command_.find(name);
    if (!o || o->argument)
      throw UsageError("there is no option --" + name + about_option(command_, all_, name));
    if (o->is_flag()) {
      if (values.empty()) values.push_back("true");
    } else if (values.empty()) {
      // One value; of a list all that follow.
      while (pos_ < words_.size() && !is_option(words_[pos_]) && (values.empty() || o->is_list()))
        values.push_back(words_[pos_++]);
      if (values.empty())
        throw UsageError(
            fmt::format("--{} needs a value: {}{}", name, o->full_help(),
                        pos_ < words_.size()
                            ? "; one that begins with -- is given as --" + name + "=" + words_[pos_]
                            : ""));
    }
    take(*o, std::move(values));
  }

  void argument(const std::string& word) {
    auto o = std::find_if(command_.options.begin(), command_.options.end(),
                          [](const Option& x) { return x.argument; });
    bool dashed = !only_words_ && word.size() > 1 && word[0] == '-';
    if (o == command_.options.end() || dashed)
      throw UsageError(fmt::format("'{}' is no option{}", word, about_word(command_, all_, word)));
    take(*o, {word});
  }

  Command& command_;
  const std::vector<Command>& all_;
  std::vector<std::string> words_;
  std::size_t pos_ = 0;
  bool only_words_ = false;
  Line line_;
};

void store(Option& o) {
  if (std::string problem = set_option(o, o.typed); !problem.empty())
    throw UsageError((o.argument ? "" : "--") + o.name + ": " + problem +
                     (o.is_flag() ? "; a flag takes no value, or =true or =false" : ""));
  o.origin = kCommandLine;
}

// An option of another kind of model would be ignored.
[[noreturn]] void refuse_of_other_kind(const Command& command, const Option& o) {
  std::string key = o.name;
  std::ranges::replace(key, '-', '_');
  const Kind& kind = kind_named(*std::get<std::string*>(command.find("kind")->field));
  const std::string problem = not_an_option_of(kind, key);
  if (o.origin == kCommandLine) throw UsageError("--" + o.name + ": " + problem);
  throw FileError(o.origin, o.name + " " + problem);
}

void print_help(const About& about, Command& command, const Line& line) {
  for (Option* o : line.options)
    if (o->decides) store(*o);
  if (command.adjust) command.adjust(command);
  print(verb_help(about, command, line.help_all));
}

}  // namespace

Command* parse_command_line(const About& about, std::vector<Command>& commands, int argc,
                            const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  auto help = [&] {
    print(program_help(about, commands));
    return nullptr;
  };
  if (words.empty()) return help();
  if (words[0] == "--version") {
    if (words.size() > 1)
      throw UsageError(fmt::format("--version stands alone: '{}' is too many", words[1]));
    print(about.name + " " + about.version + "\n");
    return nullptr;
  }
  bool asks =
      words[0] == "help" || words[0] == "--help" || words[0] == "-h" || words[0] == "--help-all";
  if (asks && words.size() == 1) return help();
  if (asks) {
    words.erase(words.begin());
    words.push_back("--help");
  }
  auto verb = std::find_if(commands.begin(), commands.end(),
                           [&](const Command& c) { return c.name == words[0]; });
  if (verb == commands.end()) {
    for (const Command& c : commands)
      if (std::find(words.begin(), words.end(), c.name) != words.end())
        throw UsageError(fmt::format("the verb comes first, then '{}': {} {} ...", words[0],
                                     about.name, c.name));
    throw UsageError(fmt::format("there is no verb '{}'{}", words[0],
                                 words[0].starts_with("-")
                                     ? fmt::format("; the verb comes first: {} help", about.name)
                                     : about_verb(commands, words[0])));
  }
  Command& command = *verb;
  words.erase(words.begin());
  Line line = WordReader(command, commands, words).read();
  if (line.help || line.help_all) {
    print_help(about, command, line);
    return nullptr;
  }
  for (Option* o : line.options) {
    store(*o);
    // Where a configuration may name a file, an empty name takes that back.
    if (o->placeholder().starts_with("F") && o->typed.back().empty() && !command.find("config"))
      throw UsageError((o->argument ? "" : "--") + o->name + ": the name is empty");
  }
  for (const Option& o : command.options)
    if (o.required && !o.is_set)
      throw UsageError(fmt::format("{} needs {}{}: {}", command.name, o.argument ? "" : "--",
                                   o.argument ? option_usage(o) : o.name, o.help));
  if (const Option* config = command.find("config"); config && config->is_set)
    apply_config(command, commands, *std::get<std::string*>(config->field));
  if (line.show_config && command.find("resume") && command.given("resume"))
    throw UsageError("--show-config: a resumed run has the options of OUT/config.toml");
  if (command.adjust) command.adjust(command);  // the model of --init-from says the kind
  // A file may name every option, as the one that a run leaves does.
  for (const Option& o : command.options)
    if (o.is_set && !command.applies(o)) refuse_of_other_kind(command, o);
  if (!line.show_config) return &command;
  print(effective_config(about, command));
  return nullptr;
}

void run_command(Command& command) {
  try {
    command.run(command);
  } catch (const ValueError& e) {
    const Option* o = e.op().starts_with("--") ? command.find(e.op().substr(2)) : nullptr;
    std::string value = o ? o->shown_default() : "";
    if (!o || o->origin == kCommandLine || (!o->is_set && value.empty())) throw;
    if (o->is_set) throw FileError(o->origin, o->name + ": " + e.problem());
    std::string origin = o->origin.empty() ? "default" : o->origin;
    throw ValueError(e.op(), e.problem() + " (" + value + " is the " + origin + ")");
  } catch (const FileError& e) {
    const Option* model = command.find("model");
    if (!model || model->is_set || e.op() != model->shown_default() ||
        std::filesystem::exists(e.op()))
      throw;
    throw ValueError("--model",
                     "the folder '" + e.op() + "' does not exist: `glim train` makes a " +
                         "model there in a few minutes, --model names another" +
                         (command.find("fresh") ? ", --fresh takes an untrained one" : ""));
  }
}

}  // namespace glim
