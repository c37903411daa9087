#include "tensor/io/stored_json.hpp"

namespace glim {
namespace {

constexpr int kDeepest = 32;
constexpr std::int64_t kMostCount = std::int64_t{1} << 53;  // a double may not be a larger number
constexpr std::size_t kMostShown = 60;                      // characters of a value in a message

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  return text;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, bool allow_exceptions) {
  using Event = nlohmann::json::parse_event_t;
  auto shallow = [](int outer, Event event, const nlohmann::json&) {
    if ((event == Event::object_start || event == Event::array_start) && outer >= kDeepest)
      throw ValueError("", "it is nested more than " + std::to_string(kDeepest) + " levels deep");
    return true;
  };
  try {
    return nlohmann::json::parse(text, shallow, allow_exceptions);
  } catch (const ValueError&) {
    if (allow_exceptions) throw;
    return nlohmann::json(nlohmann::json::value_t::discarded);
  }
}

std::string problem_of(const nlohmann::json::exception& e) {
  std::string text = e.what();  // "[json.exception.out_of_range.403] key 'step' not found"
  std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

void require_types(const nlohmann::json& json, const nlohmann::json& like) {
  if (like.is_object() && !json.is_object()) throw ValueError("", "it is not an object");
  for (const auto& [name, example] : like.items()) {
    auto member = json.find(name);
    if (member == json.end()) continue;
    auto require = [&, &key = name](bool fits, const std::string& expected) {
      if (!fits) throw ValueError("", "'" + key + "' " + expected + ", not " + shown(*member));
    };
    if (example.is_number_integer()) {
      require(member->is_number_integer(), "must be a whole number");
      bool count = *member >= 0 && *member <= kMostCount;
      require(count, "must be a whole number from 0 to 2^53");
    } else if (example.is_number()) {
      require(member->is_number(), "must be a number");
    } else if (example.is_string()) {
      require(member->is_string(), "must be text");
    } else if (example.is_boolean()) {
      require(member->is_boolean(), "must be true or false");
    }
  }
}

}  // namespace glim
