// Glim in a page: a request as JSON (tools/inspect/request.hpp), the data of the page as JSON.
//
//   {"sentence": "...", "scale": 1, ...}   ->   {"data": ...} or {"error": "..."}
//   {..., "statistics": true}              ->   the same, with the statistics of every node
//   {"train": ..., "updates": 20}          ->   training.hpp
//   {"node": 17}                           ->   {"data": that node in the last pass: statistics and pictures}
//   {"why": "#12:2", "query": 3, "key": 1} ->   {"data": the parts of that score in the last pass} (why_parts.hpp)
//   {"lens": true}                         ->   {"data": the matrices' gradients as tokens, in the last pass}
//
// The model is read once, and again where the request names another one, other text or another loss.
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/inspect/document.hpp"
#include "tools/inspect/request.hpp"
#include "tools/inspect/why_parts.hpp"
#include "tools/live/training.hpp"

namespace glim {
namespace {

nlohmann::json answer(nlohmann::json request) {
  static std::unique_ptr<Example> example;
  static std::string key;
  static Inspection last;
  if (request.contains("train")) {
    example.reset();  // it may be of the run's weights
    return {{"data", train_in_page(request)}};
  }
  if (request.contains("lens")) return {{"data", lens_data(backward_lens(last.pass, *example))}};
  if (request.contains("why"))
    return {{"data", why_cell(last.pass, request.at("why").get<std::string>(),
                              request.at("query").get<Index>(), request.at("key").get<Index>())}};
  if (request.contains("node"))
    return {{"data", node_details(last, request.at("node").get<int>())}};
  DocumentOptions document;
  document.tensors = false;
  document.statistics = request.erase("statistics") > 0;
  ExampleOptions options = options_of(request);
  ExampleOptions unchanged = options;
  unchanged.changes = {};
  unchanged.changes.label_smoothing = options.changes.label_smoothing;
  if (std::string new_key = request_of(unchanged).dump(); !example || key != new_key) {
    example = make_example(options);
    key = new_key;
  }
  example->change(options.changes);
  // Attributions take many passes: the page keeps the ones of the unchanged pass.
  last = inspect(*example, {.attribution_steps = 0, .lens = false, .without_heads = false});
  return {{"data", page_data(last, document)}};
}

}  // namespace
}  // namespace glim

extern "C" const char* glim_live(const char* request) {
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
