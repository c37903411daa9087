#include "autograd/op.hpp"

#include <map>

#include "tensor/error.hpp"

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
  auto entry = formulas().find(op);
  return entry == formulas().end() ? nullptr : entry->second;
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

void Op::start(const Formula& formula, InputList inputs, std::uint64_t needs) {
  formula_ = &formula;
  inputs_ = needs ? inputs.data() : nullptr;
  input_count_ = static_cast<int>(inputs.size());
  needs_ = needs;
}

void Op::refuse(const std::string& problem) const {
  throw StateError(formula_ ? formula_->op : "op", problem);
}

void Op::save_input(int number) {
  if (number < 0 || number >= input_count_)
    refuse("forward saves input " + std::to_string(number) + " of " + std::to_string(input_count_));
  if (saves(number)) return;
  saves_ |= std::uint64_t{1} << std::min(number, 63);
  if (number < 63) versions_ += inputs_[number]->value().storage().version();
}

void Op::keep_saved(TapeArena& arena, InputList inputs, const Var& y) {
  inputs_ = nullptr;
  std::size_t count = wants_output_;
  for (std::size_t k = 0; k < inputs.size(); ++k) count += saves(k);
  if (count == 0) return;
  for (std::size_t k = 0; k < std::min<std::size_t>(inputs.size(), 63); ++k)
    if (saves(k)) versions_ -= inputs[k]->value().storage().version();
  if (versions_ != 0) refuse("forward changes a value that it saved");
  SavedValue* const first = arena.room<SavedValue>(count);
  auto add = [&](int number, const Var& v) {  // Ctrl-C may end it
    const std::size_t before = saved_.values.size();
    new (first + before) SavedValue(number, v);
    saved_.values = {first, before + 1};
  };
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (saves(k)) add(static_cast<int>(k), *inputs[k]);
  if (wants_output_) add(kOutput, y);
}

const Var& Op::saved(int input) const {
  for (const SavedValue& s : saved_.values) {
    if (s.input != input) continue;
    if (s.changed()) [[unlikely]]
      s.refuse(formula_->op,
               input == kOutput ? "its output" : "its input " + formula_->input_name(input));
    return s.value;
  }
  refuse("the rule reads " + (input == kOutput ? "the output" : formula_->input_name(input)) +
         ", which forward did not save");
}

const Tensor& Op::kept(int number) const {
  if (number < 0 || number >= std::ssize(kept_))
    refuse("the rule reads kept(" + std::to_string(number) + "), and forward keeps " +
           std::to_string(kept_.size()));
  return kept_[static_cast<std::size_t>(number)];
}

}  // namespace glim
