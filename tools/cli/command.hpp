// The verbs of the program as data: each has its options, the fields that they fill, and what it does
// once they are filled. The command line, configuration files, help, manual pages, completions and the
// tables of options all go by these lists (command_line.hpp, help.hpp, verbs/describe.cpp).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/row.hpp"

namespace glim {

struct Kind;
struct TrainOptions;

// A row whose name is that of the command line, "beam" for --beam. A bool is a flag, which takes no value.
struct Option : Row {
  std::map<const Kind*, Field> of_kind;     // of a size: the field that each kind has; all are set
  std::vector<const Kind*> kinds;           // that have it, where not all do
  std::string group;                        // its heading in the help
  std::optional<std::string> default_text;  // instead of the value that the field has
  bool argument = false;                    // given without its name
  bool required = false;                    // must be given
  bool in_config = true;                    // a configuration file may have it
  char delimiter = 0;                       // between the values of a list that are given as one
  bool usual = false;                       // `--help` shows it; all where none is
  bool hidden = false;                      // taken but not shown
  std::vector<std::string> typed;           // on the command line
  bool is_set = false;                      // by the command line, or by a configuration file
  std::string origin;  // where the value is from: "run.toml:3"; empty: a default

  bool is_flag() const { return std::holds_alternative<bool*>(field); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(field); }
  // The placeholder of the value: N, X, FILE, FOLDER or TEXT; empty for a flag.
  std::string placeholder() const;
  // The value unless given; empty where there is nothing to show.
  std::string shown_default() const;
  // "prefixes kept at each step [1 or more]", or the help and the choices.
  std::string full_help() const;
};

// Wrong usage: the command line makes no sense.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Command {
 public:
  Command(std::string verb, std::string what) : name(std::move(verb)), help(std::move(what)) {}

  // Adds an option, under the heading of the one before it. Its default is what the field holds now.
  Option& option(const std::string& option_name, Field field, const std::string& what,
                 const Range& range = {});
  // The option of a row, under the row's heading.
  Option& option(const Row& row);
  // An option that is given without its name on the command line.
  Option& argument(const std::string& option_name, Field field, const std::string& what);

  // The option of this name; nullptr if there is none.
  Option* find(std::string_view option_name);
  const Option* find(std::string_view option_name) const;
  // True if the user gave this option. std::logic_error for one that the command does not have.
  bool given(std::string_view option_name) const;
  // True if the option belongs to the kind of model that is chosen (any, without an option `kind`).
  bool applies(const Option& option) const;
  // From here on the fields of sizes are those of this kind.
  void choose_kind(const std::string& kind);
  // True if `--help` shows only some of the options.
  bool has_usual() const;
  // True if the command may write files: it has an option `out` with a value, or always may.
  bool writes_files() const;

  std::string name, help, footer;
  bool hidden = false;                   // from the list of verbs
  bool computes = true;                  // multiplies matrices: it has --gemm
  bool shares_work = false;              // several processes may run it
  bool always_writes = false;            // writes files without an option `out`
  std::string words_are;                 // what a word without an option may have been meant as
  std::deque<Option> options;            // a reference to one stays valid when more are added
  std::function<void(Command&)> adjust;  // gives what was not given its default
  std::function<void(Command&)> run;
};

// The options of a training run that fill the fields of `options`: of data and training, and the sizes of every kind.
void add_training_options(Command& command, TrainOptions& options,
                          const std::function<bool(const Row&)>& filter = {});

// Converts and stores what was given. Returns what is wrong with it, or nothing.
std::string set_option(Option& option, const std::vector<std::string>& values);
// The values of an option as they are now, as a configuration file has them: `"pre"`, `0.1`, `["a", "b"]`.
std::string toml_value(const Option& option);

}  // namespace glim
