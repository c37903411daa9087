// Module: parameters, buffers and children under names.
//
//   struct FeedForward : Layer {
//     FeedForward(Index d, Index d_ff)
//         : GLIM_NAMED(linear1, d, d_ff), GLIM_NAMED(linear2, d_ff, d) {}
//     Var forward(const Var& x) override { return linear2(relu(linear1(x))); }
//
//     Child<Linear> linear1, linear2;
//   };
//
//   FeedForward layer(4, 8);
//   Var y = layer(x);                       operator() enters the module's name and calls forward
//   layer.named_parameters();               linear1.weight, linear1.bias, linear2.weight, linear2.bias
//
// A plain member, `Linear gate;`, compiles and is no child: it is not trained, checked or saved. In this file:
//
//   Module              names, training, stored state
//   Param, Buffer       a tensor of a module: trained, or saved alone
//   Callable, Layer     operator() for a module that has forward
//   Child, ModuleList   a member that is a module, and a list of them
//
// GLIM_NAMED(linear1, d, d_ff) is linear1{*this, "linear1", d, d_ff}: C++20 cannot turn a member's name into text.
// A member may also be initialised where it is declared: Child<Dropout> GLIM_NAMED(dropout, 0.1). Members register in
// the order of their declarations. Paths on the tape, state_dict() and messages have the dotted names
// ("decoder.layers.1.linear1.weight").
//
// How a parameter gets its name. Members are built before their owner: no constructor knows the path above it. So a
// path is written when somebody asks for it:
//
//   Param, Child         their constructors register them in the module, and mark the names below the root as stale
//   Var::name            asks the leaf's module to refresh: the root walks its modules and writes each leaf's dotted path
//   operator(), in_scope enter scope_name(), the same path: nodes of the tape have it, and so have errors
//
// Registration keeps addresses: modules neither copy nor move.
//
// Errors:
//   StateError   a name that is empty, has a dot or is taken; the message names the module
//                a child of another module or of itself; the use of an absent child
//                a value that is written to an absent parameter
//   ShapeError   a value of another shape is assigned to a parameter
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "autograd/ops.hpp"

#define GLIM_NAMED(member, ...) \
  member { *this, #member __VA_OPT__(, ) __VA_ARGS__ }

namespace glim {

class Param;

class Module : private LeafNames {
 public:
  Module() = default;
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // ---- parameters, buffers and children ----
  // A module's own leaves in order of registration, then its children's. A leaf shared by several
  // modules (tied weights) comes once, under its first name, unless `aliases`.
  NamedParameters named_parameters(bool aliases = false) const;
  std::vector<Var> parameters() const;
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  const std::vector<std::pair<std::string, Module*>>& children() const { return children_; }
  const Var* parameter(std::string_view name) const;  // its own of that name, or null
  const Tensor* buffer(std::string_view name) const;
  Index parameter_count() const;  // elements; shared ones once
  // All parameters as one vector (P,), in the order of named_parameters(): a copy.
  Tensor parameter_vector() const;
  // Copies a vector into them. ShapeError for another length, DTypeError unless it has their dtype.
  void set_parameter_vector(const Tensor& values) const;

  // ---- training ----
  void train(bool on = true);  // this module and all below
  void eval() { train(false); }
  bool training() const { return training_; }
  void zero_grad() const;
  // Converts parameters and floating buffers; gradients are dropped. DTypeError unless floating.
  void to(DType dtype);
  // Parameters with a name that matches (* and ?, "encoder.*") are constants from now on: backward
  // computes no gradient for them and optimizers leave them as they are; a gradient they have is
  // dropped. Returns the names. ValueError when none matches. Buffers are no parameters: batch norm
  // keeps its averages up to date until eval().
  std::vector<std::string> freeze(std::string_view pattern) const {
    return set_trainable(pattern, false);
  }
  std::vector<std::string> unfreeze(std::string_view pattern = "*") const {
    return set_trainable(pattern, true);
  }

  // ---- stored state ----
  // Parameters under every one of their names, and buffers. The tensors are the module's own, not
  // copies.
  StateDict state_dict() const;
  // Copies values in. Strict: ValueError naming what is missing or unknown. ShapeError naming the
  // parameter where shapes differ; DTypeError if one side has integers and the other floating
  // values. Values of another floating dtype are converted. Nothing is written if anything is refused.
  void load_state_dict(const StateDict& state, bool strict = true);

  // ---- within a parent ----
  // Registers a child that the caller owns. Module and child may be destroyed in either order.
  void register_child(std::string_view name, Module& child);

  // Runs f under the module's name, as operator() runs forward: for entries beside forward, and for
  // a parent that computes with the parameters of a child.
  template <class F>
  decltype(auto) in_scope(const F& f) const {
    Scope scope(scope_name());
    return f();
  }

 protected:
  // Calls through a list add no level. Its items are named "layers.0", "layers.1" ...
  explicit Module(bool is_list) : is_list_(is_list) {}

 private:
  friend class Param;
  friend class Buffer;
  void require_new(std::string_view name) const;
  std::vector<std::string> set_trainable(std::string_view pattern, bool on) const;
  void register_parameter(std::string_view name, Param& parameter, Tensor initial);
  void register_buffer(std::string_view name, Tensor& buffer);
  void forget(const Param& parameter);
  const Module& root() const { return parent_ ? parent_->root() : *this; }
  void refresh() const override;
  std::string scope_name() const;  // under which calls are entered; a root has none
  template <class F>
  void visit(const std::string& prefix, const F& f) const;  // f(module, prefix), parents first

  Module* parent_ = nullptr;
  std::vector<std::pair<std::string, Param*>> parameters_;
  std::vector<std::pair<std::string, Tensor*>> buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
  // Root only: some leaf's name is missing or out of date.
  mutable std::atomic<bool> names_stale_ = false;
  std::string name_;  // in parent_
  bool training_ = true, is_list_ = false;
};

// A trained tensor of a module: a leaf. Undefined and not registered without an initial value, like the bias of a layer
// that has none. A copy is a Var.
class Param : public Var {
 public:
  Param(Module& module, std::string_view name, Tensor initial) : module_(module) {
    if (initial.defined()) module.register_parameter(name, *this, std::move(initial));
  }
  Param(const Param&) = delete;
  ~Param() { module_.forget(*this); }
  // Writes a value, converted to the parameter's dtype; the leaf stays. ShapeError for another shape.
  Param& operator=(const Tensor& value);
  // Copy the value or share the leaf? Write .value() or tie().
  Param& operator=(const Param&) = delete;
  Param& operator=(const Var&) = delete;
  // From now on the parameter is this leaf, which may have other names too (tied weights). ShapeError
  // for another shape, DTypeError for another dtype, StateError unless it is a leaf.
  void tie(const Var& leaf);

 private:
  Module& module_;
};

// A tensor that is part of the module, saved with it and not trained.
class Buffer : public Tensor {
 public:
  Buffer(Module& module, std::string_view name, Tensor initial) : Tensor(std::move(initial)) {
    module.register_buffer(name, *this);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Tensor& value) {
    Tensor::operator=(value);
    return *this;
  }
};

// operator() for a module M whose forward has any signature, defaults and overloads:
//
//   struct Gate : Callable<Gate> {
//     Var forward(const Var& x, const Var& h);
//   };
template <class M, class Base = Module>
class Callable : public Base {
 public:
  using Base::Base;
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return this->in_scope([&]() -> decltype(auto) {
      return static_cast<M&>(*this).forward(std::forward<Args>(args)...);
    });
  }
};

// A module that maps one Var to one Var, as Sequential chains them.
struct Layer : Callable<Layer> {
  virtual Var forward(const Var& x) = 0;
};

// A member that is a module, used as the M that it is; M is not final.
template <class M>
class Child : public M {
 public:
  template <class... Args>
  Child(Module& parent, std::string_view name, Args&&... args) : M(std::forward<Args>(args)...) {
    parent.register_child(name, *this);
  }
};

[[noreturn]] void refuse_absent(const std::type_info& module);  // StateError naming it

// A child that may be absent, or of a type derived from M.
template <class M>
class Child<std::unique_ptr<M>> {
 public:
  Child() = default;
  Child(Module& parent, std::string_view name, std::unique_ptr<M> module)
      : module_(std::move(module)) {
    if (module_) parent.register_child(name, *module_);
  }
  explicit operator bool() const { return module_ != nullptr; }
  M& operator*() const {
    if (!module_) refuse_absent(typeid(M));
    return *module_;
  }
  M* operator->() const { return &**this; }
  M* get() const { return module_.get(); }  // null where absent
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    return (**this)(std::forward<Args>(args)...);
  }

 private:
  std::unique_ptr<M> module_;
};

// Modules of one type under the names "0", "1", ...
template <class M>
class ModuleList : public Module {
 public:
  ModuleList() : Module(true) {}
  ~ModuleList() override {  // in reverse order
    while (!items_.empty()) items_.pop_back();
  }
  template <class... Args>
  M& append(Args&&... args) {
    return items_.emplace_back(*this, std::to_string(items_.size()), std::forward<Args>(args)...);
  }
  std::size_t size() const { return items_.size(); }
  M& operator[](std::size_t i) { return items_[i]; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }

 private:
  std::deque<Child<M>> items_;
};

// The state_dict() as a safetensors file, and back. FileError naming the file, also where load_state_dict refuses it.
void save(const Module& module, const std::string& file);
void load(Module& module, const std::string& file);
void load(Module& module, const StateDict& state, const std::string& file);  // read from it
// Its type and size, then a line for each parameter and buffer: name, shape, dtype, elements, "frozen".
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace glim
