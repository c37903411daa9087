// Module: parameters, buffers and children under names.
//
//   struct FeedForward : Module {
//     FeedForward(Index d, Index d_ff)
//         : linear1(child<Linear>("linear1", d, d_ff)), linear2(child<Linear>("linear2", d_ff, d)) {}
//     Var forward(const Var& x) {
//       Scope scope = enter();
//       return linear2.forward(relu(linear1.forward(x)));
//     }
//     Linear &linear1, &linear2;
//   };
//
// A child or parameter is declared and registered in one line by its parent, who owns it. The
// dotted names ("decoder.layers.1.linear1.weight") are those of state_dict(), of the scope paths on
// the tape and of error messages. Names must be new within their parent (StateError).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/ops.hpp"

namespace glim {

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Leaves in order of registration, depth first. A leaf shared by several modules (tied weights)
  // comes once, under its first name, unless `aliases`.
  std::vector<std::pair<std::string, Var>> named_parameters(bool aliases = false) const;
  std::vector<Var> parameters() const;
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  std::vector<std::pair<std::string, Module*>> children() const;
  Index parameter_count() const;  // elements; shared ones once

  void train(bool on = true);  // this module and all below
  void eval() { train(false); }
  bool training() const { return training_; }
  void zero_grad() const;
  // Converts parameters and floating buffers; gradients are dropped.
  void to(DType dtype);
  // Parameters whose name matches (* and ?) take part in training or not; returns how many matched.
  int set_trainable(std::string_view pattern, bool on) const;

  // Parameters under every one of their names, and persistent buffers. The tensors are the
  // module's own, not copies.
  StateDict state_dict() const;
  // Copies values in. Strict: ValueError naming what is missing or unknown. ShapeError naming the
  // parameter where shapes differ; values of another floating dtype are converted.
  void load_state_dict(const StateDict& state, bool strict = true);

  // The name under which the parent entered it on the scope stack.
  const std::string& scope_name() const { return scope_name_; }

 protected:
  Var& parameter(std::string_view name, Tensor initial);
  // Part of the model that is not trained; persistent ones are saved.
  Tensor& buffer(std::string_view name, Tensor initial, bool persistent = true);
  template <class M, class... Args>
  M& child(std::string_view name, Args&&... args) {
    auto owned = std::make_unique<M>(std::forward<Args>(args)...);
    M& module = *owned;
    adopt(name, std::move(owned));
    return module;
  }
  void adopt(std::string_view name, std::unique_ptr<Module> module);
  Scope enter() const { return Scope(scope_name_); }
  // Called when the module has got its place; lists pass their name on to their items.
  virtual void attached() {}
  static void set_scope_name(Module& m, std::string name) {
    m.scope_name_ = std::move(name);
    m.attached();
  }

 private:
  struct Parameter {
    std::string name;
    Var var;
  };
  struct Buffer {
    std::string name;
    Tensor tensor;
    bool persistent;
  };
  struct Child {
    std::string name;
    std::unique_ptr<Module> module;
  };
  void require_new(std::string_view name) const;
  Module& root() { return parent_ ? parent_->root() : *this; }
  std::string prefix() const;  // the path from the root and a dot; empty for the root
  void name_leaves();          // of this module and all below, when it has got its place
  template <class F>
  void visit(const std::string& prefix, const F& f) const;  // f(module, prefix), parents first

  Module* parent_ = nullptr;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Child> children_;
  std::set<const Leaf*> named_;  // of a root: leaves that have a name
  std::string scope_name_;
  bool training_ = true;
};

// A module that maps one Var to one Var, as Sequential chains them.
class Layer : public Module {
 public:
  virtual Var forward(const Var& x) = 0;
  Var operator()(const Var& x) { return forward(x); }
};

// Modules of one type under the names "0", "1", ...
template <class M>
class ModuleList final : public Module {
 public:
  template <class... Args>
  M& append(Args&&... args) {
    M& m = child<M>(std::to_string(items_.size()), std::forward<Args>(args)...);
    items_.push_back(&m);
    place(items_.size() - 1);
    return m;
  }
  std::size_t size() const { return items_.size(); }
  M& operator[](std::size_t i) const { return *items_[i]; }
  auto begin() const { return items_.begin(); }  // of pointers
  auto end() const { return items_.end(); }

 private:
  // The list itself is not entered, so its items bear its name: "layers.0".
  void place(std::size_t i) {
    set_scope_name(*items_[i],
                   (scope_name().empty() ? "" : scope_name() + ".") + std::to_string(i));
  }
  void attached() override {
    for (std::size_t i = 0; i < items_.size(); ++i) place(i);
  }
  std::vector<M*> items_;
};

}  // namespace glim
