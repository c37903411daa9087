#include "tools/inspect/request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/kinds/presets.hpp"

namespace glim {
namespace {

using Json = nlohmann::json;

// Sets the fields of rows, and refuses what they do not name.
void read_all(const Json& request, const Rows& rows) {
  for (const auto& [key, value] : request.items()) {
    const auto row = std::ranges::find_if(
        rows, [&, &name = key](const Row& r) { return dashed(r.key()) == name; });
    if (row == rows.end()) throw ValueError("--" + key, "there is no such option");
    try {
      restore(*row, value);
    } catch (const Json::exception&) {
      throw ValueError("--" + key, "takes another value than " + value.dump());
    } catch (const ValueError& e) {
      throw ValueError("--" + key, e.problem());
    }
    if (const std::string wrong = refused(*row); !wrong.empty())
      throw ValueError("--" + key, wrong);
  }
}

// All that a request says of an example, pixels in the place of a file aside.
Rows rows_of(ExampleOptions& o) { return concatenated(o.rows(), o.changes.rows()); }

}  // namespace

Json request_of(const ExampleOptions& options) {
  Json request = Json::object();
  ExampleOptions copy = options;
  for (const Row& row : rows_of(copy)) request[dashed(row.key())] = stored(row);
  request["pixels"] = options.pixels;
  request["size"] = options.size;
  if (!options.init) return request;
  request.erase("model");
  for (const Row& row : copy.fresh.rows()) request["fresh"][dashed(row.key())] = stored(row);
  return request;
}

TrainOptions fresh_options(const Json& request) {
  TrainOptions o;
  if (request.contains("kind") && request["kind"].is_string()) o.kind = request["kind"];
  read_all(request, o.rows());
  apply_preset(o, [&](const std::string& name) { return request.contains(name); });
  return o;
}

ExampleOptions options_of(const Json& request) {
  ExampleOptions o;
  Json fields = request;
  if (fields.contains("fresh")) {
    o.init = true;
    o.fresh = fresh_options(fields["fresh"]);
    fields.erase("fresh");
  }
  try {
    if (fields.contains("pixels")) fields["pixels"].get_to(o.pixels);
    if (fields.contains("size")) fields["size"].get_to(o.size);
  } catch (const Json::exception&) {
    throw ValueError("--image", "pixels and size are lists of whole numbers");
  }
  fields.erase("pixels");
  fields.erase("size");
  read_all(fields, rows_of(o));
  return o;
}

}  // namespace glim
