// Glim in a page: a request as JSON (tools/inspect/request.hpp), the data of the page as JSON.
//
//   {"sentence": "...", "scale": 1, ...}   ->   {"data": ...} or {"error": "..."}
#include <emscripten.h>
#include <nlohmann/json.hpp>

#include "tools/inspect/document.hpp"
#include "tools/inspect/request.hpp"

namespace glim {
namespace {

nlohmann::json answer(const nlohmann::json& request) {
  Example example(options_of(request));
  InspectionOptions options;
  options.attribution_steps = 0;  // many passes; the page keeps those of the pass as it was
  return {{"data", page_data(inspect(example, options), {})}};
}

}  // namespace
}  // namespace glim

extern "C" EMSCRIPTEN_KEEPALIVE const char* glim_live(const char* request) {
  static std::string text;
  try {
    text = glim::answer(nlohmann::json::parse(request)).dump();
  } catch (const glim::Error& e) {
    text = nlohmann::json({{"error", e.one_line()}}).dump();
  } catch (const std::exception& e) {
    text = nlohmann::json({{"error", e.what()}}).dump();
  }
  return text.c_str();
}
