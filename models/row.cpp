#include "models/row.hpp"

#include <array>
#include <charconv>

#include "models/stored_rows.hpp"

namespace glim {
namespace {

template <class T>
std::string assign_number(const Range& range, T& field, const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  if (end - begin > 1 && *begin == '+' && begin[1] != '-') ++begin;
  T value{};
  auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) return "'" + text + "' is beyond what can be stored";
  if (error != std::errc() || stop != end)
    return "'" + text + "' is not a " +
           (std::is_same_v<T, double> ? "number"
            : std::is_unsigned_v<T>   ? "whole number from 0"
                                      : "whole number");
  if (std::string problem = range.refuse(static_cast<double>(value)); !problem.empty())
    return problem + ", not " + text;
  field = value;
  return {};
}

std::string assign_flag(bool& field, const std::string& text) {
  field = text == "true" || text == "1" || text == "on" || text == "yes";
  if (!field && text != "false" && text != "0" && text != "off" && text != "no")
    return "'" + text + "' is neither true nor false";
  return {};
}

template <class Number>
std::string shortest(Number x) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr};
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

const std::vector<std::string>& Row::names() const {
  const auto* chosen = std::get_if<Choice>(&field);
  return chosen ? chosen->names : choices;
}

nlohmann::json stored(const Row& row) {
  auto value = []<class T>(const T& field) -> nlohmann::json {
    if constexpr (std::is_same_v<T, Choice>)
      return field.get();
    else if constexpr (requires { field->has_value(); })
      return field->has_value() ? nlohmann::json(**field) : nlohmann::json();
    else
      return *field;
  };
  return std::visit(value, row.field);
}

void restore(const Row& row, const nlohmann::json& value) {
  auto take = [&]<class T>(const T& field) {
    if constexpr (std::is_same_v<T, Choice>) {
      try {
        field.set(value.get<std::string>());
      } catch (const ValueError& e) {
        throw ValueError(row.name, e.problem());
      }
    } else if constexpr (requires { field->has_value(); }) {
      field->reset();
      if (!value.is_null()) value.get_to(field->emplace());
    } else {
      value.get_to(*field);
    }
  };
  std::visit(take, row.field);
}

std::string assign(const Row& row, const std::string& text) {
  auto take = [&]<class T>(const T& field) -> std::string {
    if constexpr (std::is_same_v<T, Choice>) {
      field.set(text);
    } else if constexpr (std::is_same_v<T, bool*>) {
      return assign_flag(*field, text);
    } else if constexpr (std::is_same_v<T, std::optional<bool>*>) {
      return assign_flag(field->emplace(), text);
    } else if constexpr (std::is_same_v<T, std::string*>) {
      *field = text;
    } else if constexpr (std::is_same_v<T, std::vector<std::string>*>) {
      *field = {text};
    } else if constexpr (std::is_same_v<T, std::optional<double>*>) {
      double value = 0;
      const std::string problem = assign_number(row.range, value, text);
      if (problem.empty()) *field = value;
      return problem;
    } else {
      return assign_number(row.range, *field, text);
    }
    return {};
  };
  return std::visit(take, row.field);
}

std::string refused(const Row& row) {
  auto out_of_range = [&](auto x) {
    const std::string problem = row.range.refuse(static_cast<double>(x));
    return problem.empty() ? problem : problem + ", not " + shortest(x);
  };
  auto look = [&]<class T>(const T& field) -> std::string {
    if constexpr (std::is_same_v<T, Choice> || std::is_same_v<T, std::string*>) {
      std::string name;
      if constexpr (std::is_same_v<T, Choice>)
        name = field.get();
      else
        name = *field;
      const auto& names = row.names();
      if (names.empty() || name.empty() || std::ranges::find(names, name) != names.end()) return {};
      return "'" + name + "' is not one of " + joined(names);
    } else if constexpr (std::is_same_v<T, std::optional<double>*>) {
      return *field ? out_of_range(**field) : "";
    } else if constexpr (std::is_same_v<T, double*> || std::is_same_v<T, std::int64_t*> ||
                         std::is_same_v<T, std::uint64_t*> || std::is_same_v<T, int*>) {
      return out_of_range(*field);
    } else {
      return {};
    }
  };
  return std::visit(look, row.field);
}

std::string to_json(const Rows& rows) {
  auto j = nlohmann::json::object();
  for (const Row& row : rows) j[row.name] = stored(row);
  return j.dump();
}

void from_json(const Rows& rows, const std::string& text, const std::string& where) {
  read_json(text, to_json(rows), where, "model description", [&](const auto& j) {
    for (const Row& row : rows) restore(row, j.at(row.name));
    return true;
  });
}

}  // namespace glim
