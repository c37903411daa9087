#include "tools/cli/command.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace glim {
namespace {

template <class T>
std::string set_number(const Option& o, T& field, const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  if (end - begin > 1 && *begin == '+') ++begin;
  T value{};
  auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range)
    return fmt::format("'{}' lies beyond what can be stored", text);
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

struct Setter {
  const Option& option;
  const std::vector<std::string>& values;

  std::string operator()(bool* field) const {
    const std::string& v = values.back();
    bool on = v == "true" || v == "1" || v == "on" || v == "yes";
    if (!on && v != "false" && v != "0" && v != "off" && v != "no")
      return fmt::format("'{}' is neither true nor false", v);
    *field = on;
    return {};
  }
  std::string operator()(std::string* field) const {
    *field = values.back();
    return {};
  }
  std::string operator()(std::vector<std::string>* field) const {
    *field = values;
    return {};
  }
  template <class T>
  std::string operator()(T* field) const {
    return set_number(option, *field, values.back());
  }
};

struct Shower {
  std::string operator()(const bool*) const { return {}; }
  std::string operator()(const std::string* field) const {
    bool plain = std::all_of(field->begin(), field->end(), [](char c) { return c > ' '; });
    return plain ? *field : std::string();
  }
  std::string operator()(const std::vector<std::string>*) const { return {}; }
  template <class T>
  std::string operator()(const T* field) const {
    return fmt::format("{}", *field);
  }
};

}  // namespace

Option& Command::option(const std::string& option_name, Field field, const std::string& what,
                        const Range& range) {
  Option o;
  o.name = option_name;
  o.field = field;
  o.help = what;
  o.range = range;
  o.default_text = std::visit(Shower{}, field);
  if (!options.empty()) o.group = options.back().group;
  return options.emplace_back(std::move(o));
}

Option& Command::argument(const std::string& option_name, Field field, const std::string& what) {
  Option& o = option(option_name, field, what);
  o.argument = true;
  o.in_config = false;
  return o;
}

bool Command::given(std::string_view option_name) const {
  for (const Option& o : options)
    if (o.name == option_name) return o.given;
  throw std::logic_error(name + " has no option --" + std::string(option_name));
}

std::string set_option(Option& option, const std::vector<std::string>& values) {
  if (values.empty()) return "needs a value";
  if (values.size() > 1 && !std::holds_alternative<std::vector<std::string>*>(option.field))
    return "is given more than once";
  if (!option.choices.empty())
    for (const std::string& v : values)
      if (std::find(option.choices.begin(), option.choices.end(), v) == option.choices.end())
        return fmt::format("'{}' is not one of {}", v, fmt::join(option.choices, ", "));
  std::string problem = std::visit(Setter{option, values}, option.field);
  if (problem.empty()) option.given = true;
  return problem;
}

}  // namespace glim
