#include "tools/cli/command.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/common/escape.hpp"
#include "tools/common/nearest.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

std::string toml_text(const std::string& text) { return in_toml(in_json(nlohmann::json(text))); }

// A field's value as the help shows it, or as a configuration has it.
std::string value_text(const Field& any, bool toml) {
  auto number = [&](double x) { return toml ? fmt::format("{}", x) : fmt::format("{:.6g}", x); };
  auto text = [&]<class T>(const T& field) -> std::string {
    if constexpr (std::is_same_v<T, Choice>) {
      return toml ? toml_text(field.get()) : field.get();
    } else if constexpr (std::is_same_v<T, bool*>) {
      return !toml ? "" : *field ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string*>) {
      if (toml) return toml_text(*field);
      return std::ranges::all_of(*field, [](char c) { return c > ' '; }) ? *field : "";
    } else if constexpr (std::is_same_v<T, std::vector<std::string>*>) {
      std::vector<std::string> list;
      for (const std::string& v : *field) list.push_back(toml_text(v));
      return toml ? fmt::format("[{}]", fmt::join(list, ", ")) : "";
    } else if constexpr (std::is_same_v<T, std::optional<double>*> ||
                         std::is_same_v<T, std::optional<bool>*>) {
      return *field ? number(static_cast<double>(**field)) : "";
    } else if constexpr (std::is_same_v<T, double*>) {
      return number(*field);
    } else {
      return fmt::format("{}", *field);
    }
  };
  return std::visit(text, any);
}

template <class Options>
auto find_option(Options& options, std::string_view name) -> decltype(&options[0]) {
  for (auto& o : options)
    if (o.name == name) return &o;
  return nullptr;
}

}  // namespace

Option& Command::option(const std::string& option_name, Field field, const std::string& what,
                        const Range& range) {
  Option o;
  o.name = option_name;
  o.field = field;
  o.help = what;
  o.range = range;
  if (!options.empty()) o.group = options.back().group;
  return options.emplace_back(std::move(o));
}

Option& Command::option(const Row& row) {
  Option& o = option(dashed(row.key()), row.field, row.help, row.range);
  o.group = row.group;
  o.choices = row.names();
  o.decides = row.decides;
  return o;
}

void add_training_options(Command& command, TrainOptions& options,
                          const std::function<bool(const Row&)>& filter) {
  auto take = [&](const Row& row, const Kind* of_kind) {
    if (row.help.empty() || (filter && !filter(row))) return;
    Option* o = command.find(dashed(row.key()));
    if (!o) {
      o = &command.option(row);
      if (const auto owners = kinds_with(row.key()); owners.size() < kinds().size())
        o->kinds = owners;
    }
    if (!of_kind) return;
    o->of_kind.emplace(of_kind, row.field);
    for (const std::string& name : row.names())  // those that some kind has
      if (std::ranges::find(o->choices, name) == o->choices.end()) o->choices.push_back(name);
  };
  bool sized = false;
  for (const Row& row : options.table()) {
    if (!sized && row.group == std::string_view("Model")) {
      sized = true;
      for (const Kind* kind : kinds())
        for (const Row& size : options.sizes.at(kind->name).rows()) take(size, kind);
    }
    take(row, nullptr);
  }
}

Option& Command::argument(const std::string& option_name, Field field, const std::string& what) {
  Option& o = option(option_name, field, what);
  o.argument = true;
  o.in_config = false;
  return o;
}

Option* Command::find(std::string_view option_name) { return find_option(options, option_name); }
const Option* Command::find(std::string_view option_name) const {
  return find_option(options, option_name);
}

bool Command::given(std::string_view option_name) const {
  if (const Option* o = find(option_name)) return o->is_set;
  throw std::logic_error(name + " has no option --" + std::string(option_name));
}

bool Command::applies(const Option& option) const {
  const Option* kind = find("kind");
  return !kind || option.kinds.empty() || std::ranges::any_of(option.kinds, [&](const Kind* owner) {
    return owner->name == *std::get<std::string*>(kind->field);
  });
}

void Command::choose_kind(const std::string& kind) {
  const Kind& chosen = kind_named(kind);
  for (Option& o : options)
    if (const auto size = o.of_kind.find(&chosen); size != o.of_kind.end()) o.field = size->second;
}

bool Command::has_usual() const { return std::ranges::any_of(options, &Option::usual); }

std::string Option::placeholder() const {
  if (is_flag()) return {};
  if (!choices.empty()) return "NAME";
  if (std::holds_alternative<double*>(field) ||
      std::holds_alternative<std::optional<double>*>(field))
    return "X";
  if (!is_list() && !std::holds_alternative<std::string*>(field)) return "N";
  // The first of these words in the help.
  std::size_t file = std::min(help.find("file"), help.find("IDX"));
  std::size_t folder = help.find("folder");
  return file < folder ? "FILE" : folder != std::string::npos ? "FOLDER" : "TEXT";
}

bool Command::writes_files() const {
  const Option* out = find("out");
  return always_writes || (out && !std::get<std::string*>(out->field)->empty());
}

std::string Option::shown_default() const {
  return default_text ? *default_text : value_text(field, false);
}

std::string Option::full_help() const {
  if (!choices.empty()) return fmt::format("{}: {}", help, fmt::join(choices, ", "));
  std::string values = range.text();
  return help + (values.empty() ? "" : " [" + values + "]");
}

std::string set_option(Option& option, const std::vector<std::string>& values) {
  if (values.empty()) return "needs a value";
  if (values.size() > 1 && !std::holds_alternative<std::vector<std::string>*>(option.field))
    return "is given more than once";
  auto* text = std::get_if<std::string*>(&option.field);
  bool unset = text && (*text)->empty() && values.back().empty();  // no choice is one too
  if (!option.choices.empty() && !unset)
    for (const std::string& v : values)
      if (std::find(option.choices.begin(), option.choices.end(), v) == option.choices.end())
        return fmt::format("'{}' is not one of {}{}", v, fmt::join(option.choices, ", "),
                           did_you_mean(v, option.choices));
  std::string problem;
  if (auto* list = std::get_if<std::vector<std::string>*>(&option.field))
    **list = values;
  else
    problem = assign(option, values.back());
  for (const auto& [kind, field] : option.of_kind) {
    if (!problem.empty()) break;
    Row row = option;
    row.field = field;
    problem = assign(row, values.back());
  }
  if (problem.empty()) option.is_set = true;
  return problem;
}

std::string toml_value(const Option& option) { return value_text(option.field, true); }

}  // namespace glim
