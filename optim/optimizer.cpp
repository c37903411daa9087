#include "optim/optimizer.hpp"

#include <cmath>
#include <set>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

double rounded(double x, DType t) { return t == DType::Float32 ? static_cast<float>(x) : x; }

std::string fits_not(std::string_view what, double x, const std::string& name, DType t) {
  return std::string(what) + " " + number_text(x, 12) + " is " + number_text(rounded(x, t)) +
         " in " + std::string(name_of(t)) + ", the dtype of " + name;
}

}  // namespace

Optimizer::Optimizer(const NamedParameters& parameters, double rate, const Decay& decay,
                     std::vector<std::string> states)
    : states_(std::move(states)) {
  constexpr Index kStepPiece = 16384;
  std::set<std::string> names;
  std::set<const Leaf*> leaves;
  if (!(std::isfinite(decay.factor) && decay.factor >= 0))
    throw ValueError("optimizer", "weight decay must be finite and not negative");
  for (const auto& [name, var] : parameters) {
    if (!names.insert(name).second)
      throw ValueError("optimizer", "two parameters are named " + name);
    if (!leaves.insert(&var.leaf()).second)
      throw ValueError("optimizer", name + " is a parameter already listed under another name");
    require_floating(var.value(), "optimizer");
    for (Index begin = 0; begin < var.numel(); begin += kStepPiece)
      pieces_.push_back({slots_.size(), begin, std::min(var.numel(), begin + kStepPiece)});
    slots_.push_back({name, var, decay.matrices_only && var.rank() < 2 ? 0 : decay.factor,
                      var.shape(), var.dtype(), std::vector<Tensor>(states_.size())});
  }
  if (slots_.empty()) throw ValueError("optimizer", "there are no parameters");
  set_rate(rate);
  require_in_dtypes("weight decay", decay.factor);
  Index elements = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    elements += pieces_[i].end - pieces_[i].begin;
    if (elements < kStepPiece && i + 1 < pieces_.size()) continue;
    shares_.push_back(i + 1);
    elements = 0;
  }
}

void Optimizer::require_rate(double rate) const {
  if (!(std::isfinite(rate) && rate >= 0))
    throw ValueError("optimizer",
                     "the learning rate " + number_text(rate) + " must be finite and not negative");
  for (const Slot& slot : slots_)
    if (std::isinf(rounded(rate, slot.dtype)))
      throw ValueError("optimizer", fits_not("learning rate", rate, slot.name, slot.dtype));
}

void Optimizer::set_rate(double rate) {
  require_rate(rate);
  rate_ = rate;
}

void Optimizer::require_in_dtypes(std::string_view what, double x) const {
  for (const Slot& slot : slots_)
    if (double y = rounded(x, slot.dtype); std::isinf(y) || (y != x && (y == 0 || y == 1)))
      throw ValueError("optimizer", fits_not(what, x, slot.name, slot.dtype));
}

NamedParameters Optimizer::parameters() const {
  NamedParameters list;
  for (const Slot& slot : slots_) list.emplace_back(slot.name, slot.parameter);
  return list;
}

void Optimizer::zero_grad() const {
  for (const Slot& slot : slots_) slot.parameter.zero_grad();
}

void Optimizer::prepare(Slot& slot) const {
  const Leaf& leaf = slot.parameter.leaf();
  if (leaf.value.shape() != slot.shape || leaf.value.dtype() != slot.dtype ||
      !leaf.value.is_contiguous())
    throw StateError(
        "optimizer",
        slot.name + " is not what it was when the optimizer was made, or not contiguous",
        {{"parameter", leaf.value}});
  if (!leaf.trainable || !leaf.grad.defined()) return;
  if (leaf.grad.shape() != slot.shape || leaf.grad.dtype() != slot.dtype)
    throw StateError("optimizer", "the gradient of " + slot.name + " does not fit",
                     {{"parameter", leaf.value}, {"gradient", leaf.grad}});
  slot.gradient = leaf.grad.contiguous();
}

void Optimizer::update(const Slot& slot, Index, Index) const {
  throw StateError("optimizer", slot.name + " is not updated: override update or update_whole",
                   {{"parameter", slot.parameter.value()}});
}

bool Optimizer::update_whole(const Slot&) const { return false; }

Optimizer::Adjoint Optimizer::transposed(const Slot& slot, const Adjoint&) const {
  throw StateError("adjoint",
                   "this optimizer does not state the transpose of its step: override transposed",
                   {{"parameter", slot.parameter.value()}});
}

Tensor Optimizer::divisor(const Slot&) const {
  throw StateError("stability",
                   "this optimizer does not state what its step divides by: override divisor");
}

double Optimizer::threshold() const {
  throw StateError("stability", "this optimizer does not state its threshold: override threshold");
}

Optimizer::Stability Optimizer::stability() const {
  Stability s{{}, threshold()};
  for (const Slot& slot : slots_) {
    if (slot.step == 0 && !slot.parameter.requires_grad()) continue;
    if (slot.step == 0)
      throw StateError("stability", "the optimizer has not updated " + slot.name +
                                        " yet, so that it has no state of it: call step() first");
    if (const Tensor p = divisor(slot); p.defined()) s.preconditioner[slot.name] = p;
  }
  return s;
}

void Optimizer::step(const Where& where) {
  // All checks come before the first change.
  for (Slot& slot : slots_) slot.gradient = {};
  for (Slot& slot : slots_) prepare(slot);
  for (Slot& slot : slots_) {
    if (!slot.gradient.defined()) continue;
    for (Tensor& t : slot.state)
      if (!t.defined()) t = zeros(slot.shape, slot.dtype);
    ++slot.step;
    slot.parameter.value().storage().written(where);
  }
  ++steps_;
  for (Slot& slot : slots_)
    if (slot.gradient.defined() && update_whole(slot)) slot.gradient = {};
  parallel_each(static_cast<std::int64_t>(shares_.size()), [&](std::int64_t share) {
    for (std::size_t i = share ? shares_[share - 1] : 0; i < shares_[share]; ++i) {
      const Piece& piece = pieces_[i];
      const Slot& slot = slots_[piece.slot];
      if (slot.gradient.defined()) update(slot, piece.begin, piece.end);
    }
  });
  for (Slot& slot : slots_) slot.gradient = {};
}

StateDict Optimizer::adjoint(const StateDict& after) const {
  std::set<std::string> known;
  auto stored = [&](const std::string& name, const Slot& slot) {
    auto entry = after.find(name);
    known.insert(name);
    if (entry == after.end()) return zeros(slot.shape, slot.dtype);
    if (entry->second.shape() != slot.shape || entry->second.dtype() != slot.dtype)
      throw ShapeError("adjoint", name + " must have the shape and dtype of the parameter",
                       {{"parameter", slot.parameter.value()}, {"given", entry->second}});
    return entry->second;
  };
  StateDict before;
  for (Slot slot : slots_) {
    prepare(slot);
    Adjoint a{stored(slot.name, slot), {}};
    for (const std::string& state : states_)
      a.state.push_back(stored(state + "." + slot.name, slot));
    if (slot.gradient.defined()) {
      for (Tensor& t : slot.state)
        if (!t.defined()) t = zeros(slot.shape, slot.dtype);
      ++slot.step;
      a = transposed(slot, a);
      before["gradient." + slot.name] = a.gradient;
    }
    before[slot.name] = a.parameter;
    for (std::size_t i = 0; i < states_.size(); ++i)
      before[states_[i] + "." + slot.name] = a.state[i];
  }
  for (const auto& [name, tensor] : after)
    if (!known.count(name))
      throw ValueError("adjoint", name + " is no parameter or state of this optimizer");
  return before;
}

StateDict Optimizer::state_dict() const {
  StateDict state;
  state["rate"] = scalar(rate_, DType::Float64);
  state["steps"] = scalar(static_cast<double>(steps_), DType::Int64);
  for (const Slot& slot : slots_) {
    if (slot.step == 0) continue;
    state["step." + slot.name] = scalar(static_cast<double>(slot.step), DType::Int64);
    for (std::size_t i = 0; i < states_.size(); ++i)
      state[states_[i] + "." + slot.name] = slot.state[i];
  }
  return state;
}

void Optimizer::load_state_dict(const StateDict& state) {
  auto number = [&](const std::string& name) {
    auto entry = state.find(name);
    if (entry == state.end()) throw ValueError("optimizer", "the state lacks " + name);
    double value = entry->second.item();
    if (!(std::isfinite(value) && value >= 0))
      throw ValueError("optimizer", name + " must be finite and not negative");
    return value;
  };
  auto whole = [&](const std::string& name) {
    double value = number(name);
    if (value > 0x1p53) throw ValueError("optimizer", name + " must be at most 2^53");
    return static_cast<Index>(value);
  };
  std::set<std::string> known{"rate", "steps"};
  double rate = number("rate");
  require_rate(rate);
  auto steps = whole("steps");
  std::vector<std::pair<Index, std::vector<Tensor>>> loaded;
  for (const Slot& slot : slots_) {
    auto& [step, tensors] = loaded.emplace_back(0, std::vector<Tensor>(states_.size()));
    std::string step_name = "step." + slot.name;
    if (!state.count(step_name)) continue;  // it had no gradient so far
    known.insert(step_name);
    step = whole(step_name);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      std::string name = states_[i] + "." + slot.name;
      known.insert(name);
      auto entry = state.find(name);
      if (entry == state.end()) throw ValueError("optimizer", "the state lacks " + name);
      NamedOperand parameter("parameter", slot.parameter.value()), stored("state", entry->second);
      if (entry->second.shape() != slot.shape)
        throw ShapeError("optimizer", name + " has another shape", {parameter, stored});
      if (entry->second.dtype() != slot.dtype)
        throw DTypeError("optimizer", name + " has another dtype", {parameter, stored});
      tensors[i] = entry->second.clone();
    }
  }
  for (const auto& [name, tensor] : state)
    if (!known.count(name))
      throw ValueError("optimizer",
                       "the state has " + name + ", which belongs to no parameter here");
  rate_ = rate;
  steps_ = steps;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].step = loaded[i].first;
    slots_[i].state = std::move(loaded[i].second);
  }
}

}  // namespace glim
