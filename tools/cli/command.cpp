#include "tools/cli/command.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/common/escape.hpp"
#include "tools/common/nearest.hpp"
#include "tools/train/option_list.hpp"

namespace glim {
namespace {

template <class T>
std::string set_number(const Option& o, T& field, const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  if (end - begin > 1 && *begin == '+') ++begin;
  T value{};
  auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range)
    return fmt::format("'{}' is beyond what can be stored", text);
  if (error != std::errc() || stop != end)
    return fmt::format("'{}' is not a {}", text,
                       std::is_same_v<T, double> ? "number"
                       : std::is_unsigned_v<T>   ? "whole number from 0"
                                                 : "whole number");
  if (std::string problem = o.range.refuse(static_cast<double>(value)); !problem.empty())
    return fmt::format("{}, not {}", problem, text);
  field = value;
  return {};
}

std::string quoted(const std::string& text) { return in_toml(in_json(nlohmann::json(text))); }

// A field's value as the help shows it, or as a configuration has it.
std::string value_text(const Field& any, bool toml) {
  auto text = [&]<class T>(const T* field) -> std::string {
    if constexpr (std::is_same_v<T, bool>) {
      return !toml ? "" : *field ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (toml) return quoted(*field);
      return std::ranges::all_of(*field, [](char c) { return c > ' '; }) ? *field : "";
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      std::vector<std::string> list;
      for (const std::string& v : *field) list.push_back(quoted(v));
      return toml ? fmt::format("[{}]", fmt::join(list, ", ")) : "";
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return *field ? fmt::format("{:.6g}", **field) : "";
    } else {
      return fmt::format(std::is_same_v<T, double> ? "{:.6g}" : "{}", *field);
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

Option& Command::option(const TrainOption& t, TrainOptions& options_filled) {
  Field field = std::visit([&](auto m) -> Field { return &(options_filled.*m); }, t.member);
  Option& o = option(t.name, field, t.help, t.range);
  o.group = t.group;
  o.choices = t.choices;
  o.kinds = t.kinds;
  o.decides = t.decides;
  return o;
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
  if (const Option* o = find(option_name)) return o->given;
  throw std::logic_error(name + " has no option --" + std::string(option_name));
}

bool Command::applies(const Option& option) const {
  const Option* kind = find("kind");
  return !kind || option.kinds.empty() || lists(option.kinds, *std::get<std::string*>(kind->field));
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
  const std::string& last = values.back();
  auto set = [&]<class T>(T* field) -> std::string {
    if constexpr (std::is_same_v<T, bool>) {
      *field = last == "true" || last == "1" || last == "on" || last == "yes";
      if (!*field && last != "false" && last != "0" && last != "off" && last != "no")
        return fmt::format("'{}' is neither true nor false", last);
    } else if constexpr (std::is_same_v<T, std::string>) {
      *field = last;
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      *field = values;
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return set_number(option, field->emplace(), last);
    } else {
      return set_number(option, *field, last);
    }
    return {};
  };
  std::string problem = std::visit(set, option.field);
  if (problem.empty()) option.given = true;
  return problem;
}

std::string toml_value(const Option& option) { return value_text(option.field, true); }

}  // namespace glim
