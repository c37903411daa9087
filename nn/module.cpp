#include "nn/module.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <mutex>
#include <ostream>
#include <set>

#include "tensor/io/checksum.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/system/threads.hpp"

namespace glim {
namespace {

std::string type_name(const std::type_info& type) {  // "LayerNorm"
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? text.get() : type.name();
  if (constexpr std::string_view kChild = "glim::Child<"; name.starts_with(kChild))
    name = name.substr(kChild.size(), name.size() - kChild.size() - 1);
  auto scope = name.rfind("::", name.find('<'));
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace

template <class F>
void Module::visit(const std::string& prefix, const F& f) const {
  f(*this, prefix);
  for (auto& [name, child] : children_) child->visit(prefix + name + ".", f);
}

Module::~Module() {
  refresh();  // parts that live on keep their names
  for (auto& [name, child] : children_) child->parent_ = nullptr;
  if (parent_) std::erase_if(parent_->children_, [&](auto& c) { return c.second == this; });
}

void Module::require_new(std::string_view name) const {
  auto fail = [&](const std::string& problem) {
    throw StateError("module", type_name(typeid(*this)) + " " + problem);
  };
  std::string quoted = "'" + std::string(name) + "'";
  if (name.empty()) fail("has a member with an empty name");
  if (name.find('.') != std::string_view::npos)
    fail("has a member " + quoted + ": a name must have no dot, which separates names in a path");
  bool taken = false;
  for (const auto& p : parameters_) taken = taken || p.first == name;
  for (const auto& b : buffers_) taken = taken || b.first == name;
  for (const auto& c : children_) taken = taken || c.first == name;
  if (taken) fail("has two members " + quoted);
}

void Module::register_parameter(std::string_view name, Param& parameter, Tensor initial) {
  require_new(name);
  parameter.Var::operator=(Var::leaf(std::move(initial)));
  parameter.leaf().names = this;
  parameters_.emplace_back(name, &parameter);
  root().names_stale_ = true;
}

void Module::forget(const Param& parameter) {
  refresh();
  if (parameter.is_leaf() && parameter.leaf().names == this) parameter.leaf().names = nullptr;
  std::erase_if(parameters_, [&](auto& p) { return p.second == &parameter; });
}

void Module::register_buffer(std::string_view name, Tensor& buffer) {
  require_new(name);
  buffers_.emplace_back(name, &buffer);
}

void Module::register_child(std::string_view name, Module& child) {
  require_new(name);
  for (const Module* m = this; m; m = m->parent_)
    if (m == &child)
      throw StateError("module", "'" + std::string(name) + "' would be a part of itself");
  if (child.parent_)
    throw StateError("module", "'" + std::string(name) + "' is a part of another module already");
  children_.emplace_back(name, &child);
  child.parent_ = this;
  child.name_ = name;
  child.train(training_);
  child.names_stale_ = false;  // the root names its leaves
  root().names_stale_ = true;
}

void refuse_absent(const std::type_info& module) {
  throw StateError("module",
                   "the child " + type_name(module) + " is used, but is absent or not made yet");
}

Param& Param::operator=(const Tensor& value) {
  if (!defined()) throw StateError("parameter", "a parameter that is absent has no value to write");
  if (value.shape() != shape())
    throw ShapeError("parameter", name() + " must keep its shape",
                     {{"parameter", *this}, {"value", value}});
  leaf().value.copy_(value.to(dtype()), Where());
  return *this;
}

void Param::tie(const Var& leaf) {
  if (!defined() || !leaf.is_leaf())
    throw StateError("parameter", "only a parameter that exists can be tied, and only to a leaf");
  if (leaf.shape() != shape())
    throw ShapeError("parameter", name() + " cannot be tied to a leaf of another shape",
                     {{"parameter", *this}, {"leaf", leaf}});
  if (leaf.dtype() != dtype())
    throw DTypeError("parameter", name() + " cannot be tied to a leaf of another dtype",
                     {{"parameter", *this}, {"leaf", leaf}});
  if (this->leaf().names == &module_) this->leaf().names = nullptr;
  Var::operator=(leaf);
  if (!leaf.leaf().names) leaf.leaf().names = &module_;
  module_.root().names_stale_ = true;
}

const Var* Module::parameter(std::string_view name) const {
  for (const auto& [key, p] : parameters_)
    if (key == name) return p;
  return nullptr;
}

const Tensor* Module::buffer(std::string_view name) const {
  for (const auto& [key, b] : buffers_)
    if (key == name) return b;
  return nullptr;
}

std::string Module::scope_name() const {
  std::string list = parent_ && parent_->is_list_ ? parent_->scope_name() : std::string();
  return list.empty() ? name_ : list + "." + name_;
}

// A leaf that several modules share has the first of its paths. While the tree is built, no name is computed.
void Module::refresh() const {
  static std::mutex& mutex = new_mutex();  // several threads may ask
  const Module& top = root();
  if (!top.names_stale_) return;
  std::lock_guard lock(mutex);
  if (!top.names_stale_) return;
  for (auto& [path, var] : top.named_parameters()) var.leaf().name = path;
  top.names_stale_ = false;
}

NamedParameters Module::named_parameters(bool aliases) const {
  NamedParameters list;
  std::set<const Leaf*> visited;
  visit("", [&](const Module& m, const std::string& prefix) {
    for (const auto& [name, p] : m.parameters_)
      if (visited.insert(&p->leaf()).second || aliases) list.emplace_back(prefix + name, *p);
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
    for (const auto& [name, buffer] : m.buffers_) list.emplace_back(prefix + name, *buffer);
  });
  return list;
}

Index Module::parameter_count() const {
  Index n = 0;
  for (const Var& p : parameters()) n += p.numel();
  return n;
}

Tensor Module::parameter_vector() const {
  std::vector<Var> parts;
  for (const Var& p : parameters()) parts.emplace_back(reshape(p.value(), {-1}));
  if (parts.empty()) throw ValueError("parameter_vector", "the module has no parameters");
  return concatenate(parts, 0).value().clone();
}

void Module::set_parameter_vector(const Tensor& values) const {
  if (values.shape() != Shape{parameter_count()})
    throw ShapeError("set_parameter_vector",
                     "the module has " + std::to_string(parameter_count()) + " parameters",
                     {{"values", values}});
  for (const Var& p : parameters())
    if (p.dtype() != values.dtype())
      throw DTypeError("set_parameter_vector", p.name() + " has another dtype",
                       {{"values", values}});
  Index begin = 0;
  for (const Var& p : parameters()) {
    p.value().copy_(reshape(narrow(values, 0, begin, p.numel()), p.shape()));
    begin += p.numel();
  }
}

void Module::train(bool on) {
  training_ = on;
  for (auto& [name, child] : children_) child->train(on);
}

void Module::zero_grad() const {
  for (const Var& p : parameters()) p.zero_grad();
}

void Module::to(DType dtype) {
  if (!is_floating(dtype))
    throw DTypeError("module", "parameters must be floating, not " + std::string(name_of(dtype)));
  for (const Var& p : parameters()) {
    p.leaf().value = p.value().to(dtype);
    p.zero_grad();
  }
  visit("", [&](const Module& m, const std::string&) {
    for (const auto& [name, buffer] : m.buffers_)
      if (is_floating(buffer->dtype())) *buffer = buffer->to(dtype);
  });
}

std::vector<std::string> Module::set_trainable(std::string_view pattern, bool on) const {
  std::vector<std::string> matched;
  NamedParameters all = named_parameters(true);
  for (auto& [name, var] : all) {
    if (!glob_match(pattern, name)) continue;
    var.leaf().trainable = on;
    if (!on) var.zero_grad();
    matched.push_back(name);
  }
  if (matched.empty())
    throw ValueError(on ? "unfreeze" : "freeze",
                     "no parameter matches '" + std::string(pattern) + "'; " +
                         (all.empty() ? "there are none"
                                      : "* stands for any text, and a name is like '" +
                                            all.front().first + "'"));
  return matched;
}

StateDict Module::state_dict() const {
  StateDict state;
  for (auto& [name, var] : named_parameters(true)) state[name] = var.value();
  for (auto& [name, buffer] : named_buffers()) state[name] = buffer;
  return state;
}

void Module::load_state_dict(const StateDict& state, bool strict) {
  StateDict model_state = state_dict();
  auto lacking = [](const char* what, const StateDict& in, const StateDict& other) {
    std::string text;
    int n = 0;
    for (auto& [name, tensor] : in)
      if (!other.count(name) && ++n <= 5) text += (n == 1 ? what : ", ") + name;
    return n > 5 ? text + " and " + std::to_string(n - 5) + " more" : text;
  };
  std::string missing = lacking("missing: ", model_state, state),
              unknown = lacking("unknown: ", state, model_state);
  if (strict && !(missing.empty() && unknown.empty()))
    throw ValueError("load_state_dict",
                     missing + (missing.empty() || unknown.empty() ? "" : "; ") + unknown);
  // All are checked before the first value is written.
  for (auto& [name, tensor] : model_state) {
    auto entry = state.find(name);
    if (entry == state.end()) continue;
    const Tensor& stored = entry->second;
    if (stored.shape() != tensor.shape())
      throw ShapeError("load_state_dict", name + " has another shape",
                       {{"model", tensor}, {"file", stored}});
    if (stored.dtype() != tensor.dtype() &&
        !(is_floating(stored.dtype()) && is_floating(tensor.dtype())))
      throw DTypeError("load_state_dict", name + " has numbers of another kind",
                       {{"model", tensor}, {"file", stored}});
  }
  for (auto& [name, tensor] : model_state)
    if (auto x = state.find(name); x != state.end()) tensor.copy_(x->second.to(tensor.dtype()));
}

void save(const Module& module, const std::string& file) {
  const StateDict state = module.state_dict();
  write_safetensors(file, state,
                    with_checksum(state, {{"format", "pt"}}));  // transformers 4 needs it
}

void load(Module& module, const std::string& file) {
  load(module, read_safetensors(file).tensors, file);
}

void load(Module& module, const StateDict& state, const std::string& file) {
  try {
    module.load_state_dict(state);
  } catch (const Error& e) {
    throw FileError(file, e.one_line());
  }
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  std::vector<std::pair<std::string, std::string>> lines;
  Index count = module.parameter_count(), frozen = 0;
  for (auto& [name, p] : module.named_parameters()) {
    bool trained = p.leaf().trainable;
    frozen += trained ? 0 : p.numel();
    lines.emplace_back(
        name, p.value().kind() + ", " + std::to_string(p.numel()) + (trained ? "" : ", frozen"));
  }
  for (auto& [name, b] : module.named_buffers()) lines.emplace_back(name, b.kind() + ", buffer");
  std::size_t width = 0;
  for (auto& [name, text] : lines) width = std::max(width, name.size());
  out << type_name(typeid(module)) << ": " << std::to_string(count)
      << (count == 1 ? " parameter" : " parameters");
  if (frozen > 0) out << ", " << std::to_string(frozen) << " of them frozen";
  for (auto& [name, text] : lines)
    out << "\n  " << name << std::string(width + 2 - name.size(), ' ') << text;
  return out;
}

}  // namespace glim
