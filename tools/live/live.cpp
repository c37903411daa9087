// Glim in a page: a request as JSON (tools/inspect/request.hpp), the data of the page as JSON.
//
//   {"sentence": "...", "scale": 1, ...}   ->   {"data": ...} or {"error": "..."}
//   {..., "statistics": true}              ->   the same, with the statistics of every node
//   {"train": ..., "updates": 20}          ->   training.hpp
//   {"node": 17}                           ->   {"data": that node in the last pass: statistics and pictures}
//   {"why": "#12:2", "query": 3, "key": 1} ->   {"data": the parts of that score in the last pass} (why_parts.hpp)
//   {"why": "#12:2", ..., "part": ["A", "B"]} ->   {"data": one part of it, split again}
//   {..., "patch-node": ["*.context"], "patch-from": "another sentence"}
//                                          ->   {"data": the last pass with values of that sentence} (patching.hpp)
//   {"lens": true}                         ->   {"data": the matrices' gradients as tokens, in the last pass}
//
// The model is read once, and again where the request names another one, other text or another loss.
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/inspect/document.hpp"
#include "tools/inspect/request.hpp"
#include "tools/inspect/why_parts.hpp"
#include "tools/live/training.hpp"
#include "tools/measure/patching.hpp"

namespace glim {
namespace {

using Json = nlohmann::json;

Json answer(Json request) {
  static std::unique_ptr<Example> example;
  static std::string example_key;
  static Inspection last;
  if (request.contains("train")) {
    example.reset();  // it may be of the run's weights
    return {{"data", train_in_page(request)}};
  }
  if (request.contains("lens")) return {{"data", lens_data(backward_lens(last.pass, *example))}};
  if (request.contains("why")) {
    const std::string head = request.at("why");
    const Index query = request.at("query"), key = request.at("key");
    if (!request.contains("part")) return {{"data", why_cell(last.pass, head, query, key)}};
    const Json part = request.at("part");
    return {{"data", why_part(last.pass, head, query, key, part.at(0), part.at(1))}};
  }
  if (request.contains("patch-node")) {
    const std::vector<std::string> nodes = request.at("patch-node");
    const std::string other = request.at("patch-from");
    request.erase("patch-node");
    request.erase("patch-from");
    const Pass pass = pass_of_other(*example, options_of(request), other);
    return {{"data", in_json(patched_from(last.pass, pass, nodes))}};
  }
  if (request.contains("node"))
    return {{"data", node_details(last, request.at("node").get<int>())}};
  DocumentOptions document;
  document.tensors = false;
  document.statistics = request.erase("statistics") > 0;
  ExampleOptions options = options_of(request);
  ExampleOptions unchanged = options;
  unchanged.changes = {};
  unchanged.changes.label_smoothing = options.changes.label_smoothing;
  if (std::string new_key = request_of(unchanged).dump(); !example || example_key != new_key) {
    example = make_example(options);
    example_key = new_key;
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
