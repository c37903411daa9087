#include "nn/module.hpp"

#include <algorithm>

namespace glim {

template <class F>
void Module::visit(const std::string& prefix, const F& f) const {
  f(*this, prefix);
  for (const Child& c : children_) c.module->visit(prefix + c.name + ".", f);
}

void Module::require_new(std::string_view name) const {
  bool taken = name.empty() || name.find('.') != std::string_view::npos;
  for (const auto& p : parameters_) taken = taken || p->name == name;
  for (const auto& b : buffers_) taken = taken || b->name == name;
  for (const Child& c : children_) taken = taken || c.name == name;
  if (taken)
    throw StateError(
        "module", "the name '" + std::string(name) + "' is empty, has a dot or is taken already");
}

Var& Module::parameter(std::string_view name, Tensor initial) {
  require_new(name);
  parameters_.push_back(std::make_unique<Parameter>(
      Parameter{std::string(name), Var::leaf(std::move(initial), prefix() + std::string(name))}));
  root().named_.insert(&parameters_.back()->var.leaf());
  return parameters_.back()->var;
}

Tensor& Module::buffer(std::string_view name, Tensor initial, bool persistent) {
  require_new(name);
  buffers_.push_back(
      std::make_unique<Buffer>(Buffer{std::string(name), std::move(initial), persistent}));
  return buffers_.back()->tensor;
}

void Module::adopt(std::string_view name, std::unique_ptr<Module> module) {
  require_new(name);
  Module& m = *module;
  children_.push_back({std::string(name), std::move(module)});
  m.parent_ = this;
  set_scope_name(m, std::string(name));
  m.train(training_);
  m.name_leaves();
}

std::string Module::prefix() const {
  if (!parent_) return {};
  auto own = std::find_if(parent_->children_.rbegin(), parent_->children_.rend(),
                          [&](const Child& c) { return c.module.get() == this; });
  return parent_->prefix() + own->name + ".";
}

// A name is the path from the root. A leaf that several modules share keeps the first of its paths: when one
// comes that already has a name, the whole tree is named again.
void Module::name_leaves() {
  named_.clear();
  Module& top = root();
  bool again = false;
  visit(prefix(), [&](const Module& m, const std::string& before) {
    for (const auto& p : m.parameters_) {
      again = !top.named_.insert(&p->var.leaf()).second || again;
      p->var.leaf().name = before + p->name;
    }
  });
  if (again)
    for (auto& [path, var] : top.named_parameters()) var.leaf().name = path;
}

std::vector<std::pair<std::string, Var>> Module::named_parameters(bool aliases) const {
  std::vector<std::pair<std::string, Var>> list;
  std::set<const Leaf*> seen;
  visit("", [&](const Module& m, const std::string& prefix) {
    for (const auto& p : m.parameters_)
      if (seen.insert(&p->var.leaf()).second || aliases)
        list.emplace_back(prefix + p->name, p->var);
  });
  return list;
}

std::vector<Var> Module::parameters() const {
  std::vector<Var> list;
  for (auto& [name, var] : named_parameters()) list.push_back(var);
  return list;
}

std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  std::vector<std::pair<std::string, Tensor>> list;
  visit("", [&](const Module& m, const std::string& prefix) {
    for (const auto& b : m.buffers_) list.emplace_back(prefix + b->name, b->tensor);
  });
  return list;
}

std::vector<std::pair<std::string, Module*>> Module::children() const {
  std::vector<std::pair<std::string, Module*>> list;
  for (const Child& c : children_) list.emplace_back(c.name, c.module.get());
  return list;
}

Index Module::parameter_count() const {
  Index n = 0;
  for (const Var& p : parameters()) n += p.numel();
  return n;
}

void Module::train(bool on) {
  training_ = on;
  for (const Child& c : children_) c.module->train(on);
}

void Module::zero_grad() const {
  for (const Var& p : parameters()) p.zero_grad();
}

void Module::to(DType dtype) {
  for (const Var& p : parameters()) {
    p.leaf().value = p.value().to(dtype);
    p.zero_grad();
  }
  visit("", [&](const Module& m, const std::string&) {
    for (const auto& b : m.buffers_)
      if (is_floating(b->tensor.dtype())) b->tensor = b->tensor.to(dtype);
  });
}

int Module::set_trainable(std::string_view pattern, bool on) const {
  int matched = 0;
  for (auto& [name, var] : named_parameters()) {
    if (!glob_match(pattern, name)) continue;
    var.leaf().trainable = on;
    ++matched;
  }
  return matched;
}

StateDict Module::state_dict() const {
  StateDict state;
  for (auto& [name, var] : named_parameters(true)) state[name] = var.value();
  visit("", [&](const Module& m, const std::string& prefix) {
    for (const auto& b : m.buffers_)
      if (b->persistent) state[prefix + b->name] = b->tensor;
  });
  return state;
}

void Module::load_state_dict(const StateDict& state, bool strict) {
  StateDict own = state_dict();
  std::string missing, unknown;
  auto list = [](std::string& to, const std::string& name) {
    to += (to.empty() ? "" : ", ") + name;
  };
  for (auto& [name, tensor] : own)
    if (!state.count(name)) list(missing, name);
  for (auto& [name, tensor] : state)
    if (!own.count(name)) list(unknown, name);
  if (strict && !(missing.empty() && unknown.empty()))
    throw ValueError("load_state_dict", (missing.empty() ? "" : "missing: " + missing) +
                                            (missing.empty() || unknown.empty() ? "" : "; ") +
                                            (unknown.empty() ? "" : "unknown: " + unknown));
  // All shapes are checked before the first value is written.
  for (auto& [name, tensor] : own)
    if (auto at = state.find(name); at != state.end() && at->second.shape() != tensor.shape())
      throw with_operands(ShapeError("load_state_dict", name + " has another shape"),
                          Operand("model", tensor), Operand("file", at->second));
  for (auto& [name, tensor] : own)
    if (auto at = state.find(name); at != state.end()) tensor.copy_(at->second.to(tensor.dtype()));
}

}  // namespace glim
