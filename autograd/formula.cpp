#include "autograd/formula.hpp"

#include <map>

namespace glim {
namespace {

std::map<std::string_view, const Formula*>& formulas() {
  static std::map<std::string_view, const Formula*> all;
  return all;
}

}  // namespace

bool register_formula(const Formula& formula) {
  return formulas().emplace(formula.op, &formula).second;
}

const Formula* formula(std::string_view op) {
  auto at = formulas().find(op);
  return at == formulas().end() ? nullptr : at->second;
}

std::vector<std::string_view> registered_ops() {
  std::vector<std::string_view> names;
  for (const auto& [name, formula] : formulas()) names.push_back(name);
  return names;
}

// "dx = ..." is of x, "dq_ta = ..." of q, "d(input) = ..." of input.
std::string Formula::input_name(std::size_t input) const {
  if (input >= gradients.size() || gradients[input].empty() ||
      gradients[input].starts_with("d(part)"))
    return "input " + std::to_string(input);
  std::string_view text = gradients[input].substr(1, gradients[input].find(" =") - 1);
  text = text.substr(0, text.find('_'));
  if (text.starts_with('(')) text = text.substr(1, text.size() - 2);
  return std::string(text);
}

}  // namespace glim
