#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/foreign/function.hpp"

namespace glim {
namespace {

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// JSON has no NaN and no infinity: they are strings.
nlohmann::ordered_json number_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

nlohmann::ordered_json input_json(const GradcheckEntry& e) {
  nlohmann::ordered_json j{{"input", e.input},
                           {"name", e.name},
                           {"shape", e.shape.vec()},
                           {"dtype", name_of(e.dtype)},
                           {"checked", e.checked},
                           {"wrong", e.failed},
                           {"undecidable", e.undecidable},
                           {"kinks", e.kinks},
                           {"within_atol", e.within_atol},
                           {"mistake", text_or_null(e.mistake.name)}};
  if (e.excess >= 0)
    j["worst"] = {{"index", e.index.vec()},
                  {"analytic", number_json(e.analytic)},
                  {"numeric", number_json(e.numeric)},
                  {"of_tolerance", number_json(e.excess)}};
  return j;
}

}  // namespace

bool FunctionReport::passed() const {
  return check("differences").verdict == CheckVerdict::Passed &&
         std::none_of(checks.begin(), checks.end(), [](const FunctionCheck& c) {
           return c.doubt || c.verdict == CheckVerdict::Failed;
         });
}

std::string FunctionReport::text() const {
  std::string text = "gradcheck of " + function + ": ";
  const bool failed = std::any_of(checks.begin(), checks.end(), [](const FunctionCheck& c) {
    return c.verdict == CheckVerdict::Failed;
  });
  text += passed() ? "passed" : failed ? "FAILED" : "UNDECIDED";
  if (passed() && differences.within_atol() > 0)
    text += " but for " + std::to_string(differences.within_atol()) +
            " of its derivatives, which are within atol alone";
  Index open = 0;  // away from kinks
  for (const GradcheckEntry& e : differences.inputs) open += e.undecidable - e.kinks;
  if (passed() && open > 0)
    text += " but for " + std::to_string(open) + " of its derivatives, which nothing decides";
  if (!mistake.empty()) text += ": " + mistake;
  for (const FunctionCheck& c : checks) {
    std::string line = "\n  " + c.name;
    line.resize(line.size() + 13 - c.name.size(), ' ');
    line += name_of(c.verdict);
    if (!c.detail.empty()) line += ": " + c.detail;
    text += line;
    if (c.name != "differences" || differences.inputs.empty()) continue;
    std::string below = differences.details();
    for (std::size_t end = 0; (end = below.find('\n', end)) != std::string::npos; end += 3)
      below.insert(end + 1, "  ");
    text += below;
    for (const std::string& name : not_checked) text += "\n      " + name + ", not checked";
  }
  return text;
}

std::string FunctionReport::to_json() const {
  nlohmann::ordered_json j{
      {"function", function}, {"passed", passed()}, {"mistake", text_or_null(mistake)}};
  for (const FunctionCheck& c : checks)
    j["checks"][c.name] = {{"verdict", name_of(c.verdict)}, {"detail", c.detail}};
  j["mode"] = differences.options.mode == GradcheckOptions::Mode::Full ? "full" : "projected";
  j["atol"] = differences.options.atol;
  j["rtol"] = differences.options.rtol;
  j["seed"] = differences.options.seed;
  j["not_checked"] = not_checked;
  j["inputs"] = nlohmann::ordered_json::array();
  for (const GradcheckEntry& e : differences.inputs) j["inputs"].push_back(input_json(e));
  return j.dump();
}

}  // namespace glim
