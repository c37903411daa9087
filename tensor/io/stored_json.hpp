// JSON in the files that Glim writes: sizes, options, the state of training. Types and counts are checked
// before they are used, because anybody may have changed the file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tensor/error.hpp"

namespace glim {

// The message of an nlohmann::json error, without its number.
std::string problem_of(const nlohmann::json::exception& e);

// The value of the text. Nesting beyond 32 levels is refused before it is read: nlohmann::json copies, compares and
// prints by recursion. A ValueError then, a parse_error for invalid JSON; without exceptions a discarded value.
nlohmann::json parse_json(std::string_view text, bool allow_exceptions = true);

// ValueError naming a member of the object `like` that `json` has with another type, or a whole number
// below 0 or above 2^53. A field that only one of them has is left alone.
void require_types(const nlohmann::json& json, const nlohmann::json& like);

// read(json) of a text whose members have the types of those in `like`, the JSON of default values. FileError
// "WHERE: its WHAT cannot be read: …" for invalid JSON, other types, or a value that `read` refuses.
template <class Read>
auto read_json(const std::string& text, const std::string& like, const std::string& where,
               const char* what, const Read& read) {
  auto refused = [&](const std::string& problem) {
    return FileError(where, "its " + std::string(what) + " cannot be read: " + problem);
  };
  try {
    auto json = parse_json(text);
    require_types(json, nlohmann::json::parse(like));
    return read(json);
  } catch (const nlohmann::json::exception& e) {
    throw refused(problem_of(e));
  } catch (const ValueError& e) {
    throw refused(e.headline());
  }
}

}  // namespace glim
