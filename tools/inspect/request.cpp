#include "tools/inspect/request.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "tensor/error.hpp"
#include "tools/inspect/example_list.hpp"
#include "tools/train/option_list.hpp"
#include "tools/train/presets.hpp"

namespace glim {
namespace {

using Json = nlohmann::json;

template <class T>
void read(const std::string& name, const Json& value, T& field, const Range& range) {
  try {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      field.reset();
      if (!value.is_null()) field = value.get<double>();
    } else {
      value.get_to(field);
    }
  } catch (const Json::exception&) {
    throw ValueError("--" + name, "takes another value than " + value.dump());
  }
  if (!value.is_number()) return;
  if (std::string wrong = range.refuse(value.get<double>()); !wrong.empty())
    throw ValueError("--" + name, wrong + ", not " + value.dump());
}

// Sets the fields that `list` names, and refuses what it does not name.
template <class List>
void read_all(const Json& request, const List& list) {
  for (const auto& [key, value] : request.items()) {
    bool known = false;
    list([&, &name = key, &given = value](const std::string& its_name, auto& field,
                                          const Range& range) {
      if (name != its_name) return;
      known = true;
      read(name, given, field, range);
    });
    if (!known) throw ValueError("--" + key, "there is no such option");
  }
}

}  // namespace

Json request_of(const ExampleOptions& options) {
  Json request = Json::object();
  each_example_option(options, [&](Changed, const char* name, const auto& field, auto...) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::optional<double>>)
      request[name] = field ? Json(*field) : Json();
    else
      request[name] = field;
  });
  if (!options.init) return request;
  request.erase("model");
  for (const TrainOption& t : train_options()) request["fresh"][t.name] = t.json(options.fresh);
  return request;
}

TrainOptions fresh_options(const Json& given) {
  TrainOptions o;
  read_all(given, [&](const auto& f) {
    each_option(o, [&](const TrainOption& t, auto& field) { f(t.name, field, t.range); });
  });
  apply_preset(o, [&](const char* name) { return given.contains(name); });
  return o;
}

ExampleOptions options_of(const Json& request) {
  ExampleOptions o;
  Json own = request;
  if (own.contains("fresh")) {
    o.init = true;
    o.fresh = fresh_options(own["fresh"]);
    own.erase("fresh");
  }
  read_all(own, [&](const auto& f) {
    each_example_option(o, [&](Changed, const char* name, auto& field, const char*,
                               const Range& range = {}, auto...) { f(name, field, range); });
  });
  return o;
}

}  // namespace glim
