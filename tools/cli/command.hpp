// The verbs of the program as data: each has its options, the fields that they fill, and what it does
// once they are filled. The command line, --help and configuration files all go by these lists
// (command_line.hpp reads them).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/common/range.hpp"

namespace glim {

// Where the value of an option goes. A bool is a flag, which takes no value.
using Field = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                           std::vector<std::string>*>;

struct Option {
  std::string name;  // "beam" for --beam
  Field field;
  std::string help;
  std::string group;         // its heading in the help
  std::string default_text;  // the value that the field has unless given, as the help shows it
  bool argument = false;     // stands on the command line without its name
  bool required = false;     // must be given
  bool in_config = true;     // may stand in a configuration file
  char delimiter = 0;        // between the values of a list that are given as one
  std::vector<std::string> choices;  // the only values, where there are any
  Range range;                       // of a number; the help says it
  bool given = false;                // by the command line, or by a configuration file
};

// Wrong usage: what was typed cannot be meant.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Command {
 public:
  Command(std::string verb, std::string what) : name(std::move(verb)), help(std::move(what)) {}

  // Adds an option, under the heading of the one before it. Its default is what the field holds now.
  Option& option(const std::string& option_name, Field field, const std::string& what,
                 const Range& range = {});
  // The same without a name on the command line.
  Option& argument(const std::string& option_name, Field field, const std::string& what);

  // Whether the user gave this option. std::logic_error for one that the command does not have.
  bool given(std::string_view option_name) const;

  std::string name, help, footer;
  std::deque<Option> options;  // a reference to one stays valid when more are added
  std::function<void(Command&)> run;
};

// Converts and stores what was given. Returns what is wrong with it, or nothing.
std::string set_option(Option& option, const std::vector<std::string>& values);

}  // namespace glim
