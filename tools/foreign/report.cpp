#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/foreign/function.hpp"

namespace glim {
namespace {

using Json = nlohmann::ordered_json;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json input_json(const GradcheckEntry& e) {
  Json j{{"input", e.input},
         {"name", e.name},
         {"shape", e.shape.vec()},
         {"dtype", name_of(e.dtype)},
         {"checked", e.checked},
         {"wrong", e.failed},
         {"undecidable", e.undecidable},
         {"kinks", e.kinks},
         {"mistake", e.mistake.name.empty() ? Json(nullptr) : Json(e.mistake.name)}};
  if (e.excess >= 0)
    j["worst"] = {{"index", e.index.vec()},
                  {"analytic", number(e.analytic)},
                  {"numeric", number(e.numeric)},
                  {"of_tolerance", number(e.excess)}};
  return j;
}

}  // namespace

bool FunctionReport::passed() const {
  return check("differences").verdict == CheckVerdict::Passed &&
         std::none_of(checks.begin(), checks.end(),
                      [](const FunctionCheck& c) { return c.verdict == CheckVerdict::Failed; });
}

std::string FunctionReport::text() const {
  std::string text = "gradcheck of " + function + ": ";
  const bool failed = std::any_of(checks.begin(), checks.end(), [](const FunctionCheck& c) {
    return c.verdict == CheckVerdict::Failed;
  });
  text += passed() ? "passed" : failed ? "FAILED" : "UNDECIDED";
  if (!mistake.empty()) text += ": " + mistake;
  for (const FunctionCheck& c : checks) {
    std::string line = "\n  " + c.name;
    line.resize(line.size() + 13 - c.name.size(), ' ');
    line += name_of(c.verdict);
    if (!c.detail.empty()) line += ": " + c.detail;
    text += line;
    if (c.name != "differences" || differences.inputs.empty()) continue;
    std::string below = differences.to_string();
    below.erase(0, std::min(below.find('\n'), below.size()));
    for (std::size_t at = 0; (at = below.find('\n', at)) != std::string::npos; at += 3)
      below.insert(at + 1, "  ");
    text += below;
  }
  return text;
}

std::string FunctionReport::to_json() const {
  Json j{{"function", function},
         {"passed", passed()},
         {"mistake", mistake.empty() ? Json(nullptr) : Json(mistake)}};
  for (const FunctionCheck& c : checks)
    j["checks"][c.name] = {{"verdict", name_of(c.verdict)}, {"detail", c.detail}};
  j["mode"] = differences.options.mode == GradcheckOptions::Mode::Full ? "full" : "projected";
  j["atol"] = differences.options.atol;
  j["rtol"] = differences.options.rtol;
  j["seed"] = differences.options.seed;
  j["inputs"] = Json::array();
  for (const GradcheckEntry& e : differences.inputs) j["inputs"].push_back(input_json(e));
  return j.dump();
}

}  // namespace glim
