#include "tools/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>

#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"
#include "tools/common/output.hpp"

namespace glim {
namespace {

struct TypeName {
  const char* operator()(const double*) const { return "FLOAT"; }
  const char* operator()(const std::string*) const { return "TEXT"; }
  const char* operator()(const std::vector<std::string>*) const { return "TEXT"; }
  template <class T>
  const char* operator()(const T*) const {
    return "INT";
  }
};

CLI::Option* add_option(CLI::App& verb, Option& o) {
  std::string name = (o.argument ? "" : "--") + o.name;
  std::string range = o.range.text();
  std::string help = o.help + (range.empty() ? "" : " [" + range + "]");
  if (std::holds_alternative<bool*>(o.field))
    return verb.add_flag_function(
        name, [&o](std::int64_t count) { set_option(o, {count > 0 ? "true" : "false"}); }, help);
  CLI::callback_t take = [&o, name](const CLI::results_t& words) {
    if (std::string problem = set_option(o, words); !problem.empty())
      throw UsageError(name + ": " + problem);
    return true;
  };
  CLI::Option* option = verb.add_option(name, take, help);
  option->type_name(std::visit(TypeName{}, o.field))->type_size(1);
  if (std::holds_alternative<std::vector<std::string>*>(o.field))
    option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  else  // one value; a second is refused in our words
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (o.delimiter) option->delimiter(o.delimiter);
  if (!o.default_text.empty()) option->default_str(o.default_text);
  return option->required(o.required);
}

}  // namespace

Command* parse_command_line(const About& about, std::vector<Command>& commands, int argc,
                            const char* const* argv) {
  CLI::App app{about.text, about.name};
  app.set_version_flag("--version", about.name + " " + about.version);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.get_formatter()->column_width(34);
  Command* chosen = nullptr;
  for (Command& c : commands) {
    CLI::App* verb = app.add_subcommand(c.name, c.help);
    for (Option& o : c.options) {
      CLI::Option* option = add_option(*verb, o);
      if (!o.group.empty()) option->group(o.group);
    }
    if (!c.footer.empty()) verb->footer(c.footer);
    verb->callback([&chosen, &c] { chosen = &c; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw UsageError(e.what());
    std::ostringstream text;
    app.exit(e, text, text);  // --help, --version
    print(text.str());
    return nullptr;
  } catch (const std::logic_error&) {  // CLI11's own conversion of a flag's value
    throw UsageError("a flag takes no value, or =true or =false");
  }
  return chosen;
}

void apply_config(Command& command, const std::string& path) {
  InputFile file(path);  // no pipe and no device, which may have no end
  constexpr std::uint64_t kMost = 1'000'000;
  if (file.size() > kMost)
    file.fail("has " + std::to_string(file.size()) + " bytes, a configuration has 1 MB at most");
  std::istringstream text(file.read_text(0, static_cast<std::size_t>(file.size())));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(text);
  } catch (const CLI::Error& e) {
    throw FileError(path, e.what());
  }
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of a section
    bool here =
        item.parents.empty() || (item.parents.size() == 1 && item.parents[0] == command.name);
    auto option =
        std::find_if(command.options.begin(), command.options.end(),
                     [&](const Option& o) { return here && o.in_config && o.name == item.name; });
    if (option == command.options.end())
      throw FileError(path, "'" + item.fullname() + "' is no option of glim " + command.name);
    if (option->given) continue;
    if (std::string problem = set_option(*option, item.inputs); !problem.empty())
      throw FileError(path, item.name + ": " + problem);
  }
}

}  // namespace glim
