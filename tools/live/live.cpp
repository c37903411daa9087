// Glim in a page: a request as JSON, the data of the page as JSON.
//
//   {"model": "/model.safetensors", "sentence": "...", "translation": "..."}   ->   {"data": ...} or {"error": "..."}
//
// The keys are the options of `glim inspect`; an empty sentence or translation is one that was not given.
#include <emscripten.h>
#include <nlohmann/json.hpp>

#include "tools/inspect/document.hpp"

namespace glim {
namespace {

nlohmann::json answer(const nlohmann::json& request) {
  ExampleOptions o;
  o.model = request.at("model");
  o.source = request.value("sentence", "");
  o.target = request.value("translation", "");
  Example example(o);
  InspectionOptions options;
  options.attribution_steps = request.value("attribution-steps", 0);
  return {{"data", page_data(inspect(example, options), {})}};
}

}  // namespace
}  // namespace glim

extern "C" EMSCRIPTEN_KEEPALIVE const char* glim_live(const char* request) {
  static std::string text;
  try {
    text = glim::answer(nlohmann::json::parse(request)).dump();
  } catch (const std::exception& e) {
    text = nlohmann::json({{"error", e.what()}}).dump();
  }
  return text.c_str();
}
