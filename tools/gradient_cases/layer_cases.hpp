// Gradient checks of layers: shared by the files of layer cases.
#pragma once

#include <memory>
#include <optional>

#include "autograd/op_form.hpp"
#include "nn/module.hpp"
#include "tools/gradient_cases/op_specs.hpp"

namespace glim::specs {

inline constexpr DType kDouble = DType::Float64;

struct Subject {
  std::shared_ptr<Module> module;
  std::function<Var(const Var& x)> forward;
};

// A module and how it is called.
template <class M, class F>
Subject subject(std::shared_ptr<M> module, F forward) {
  return {module, [module, forward](const Var& x) { return forward(*module, x); }};
}
template <class L, class... Args>
std::function<Subject()> layer(Args... args) {
  return [=] {
    return subject(std::make_shared<L>(args...), [](L& l, const Var& x) { return l(x); });
  };
}

class LayerCases {
 public:
  // `x`: the shape of the input, if there is one. The module is made anew by each case.
  void add(const std::string& family, const std::string& op, const std::string& name,
           std::optional<Shape> x, const std::function<Subject()>& make) {
    add_one(family, op, name, x, make, OpForm::Fused, false);
    add_one(family, op, name + ", explicit", x, make, OpForm::Explicit, false);
    add_one(family, op, name + ", second order", x, make, OpForm::Fused, true);
  }
  std::vector<Case> take() { return std::move(list_); }

 private:
  void add_one(const std::string& family, const std::string& op, const std::string& name,
               const std::optional<Shape>& shape, const std::function<Subject()>& make,
               OpForm magnification, bool second_order) {
    list_.push_back({family, op, name, [=] {
                       seed(20);
                       Subject s = make();
                       NamedParameters names;
                       if (s.module) {
                         s.module->to(kDouble);
                         for (auto& [path, var] : s.module->named_parameters()) {
                           // Ones and zeros, as norms and biases begin, would hide mistakes.
                           var.value().copy_(
                               uniform(var.shape(), -1, 1, generator().next(), kDouble));
                           names.emplace_back(path, var);
                         }
                       }
                       Var x;
                       if (shape) {
                         x = Var::leaf(uniform(*shape, -1, 1, generator().next(), kDouble));
                         names.emplace_back("x", x);
                       }
                       UseForm use(magnification);
                       return gradcheck([&] { return s.forward(x); }, names,
                                        {.name = op, .second_order = second_order});
                     }});
  }
  std::vector<Case> list_;
};

// One for each file of layer cases.
void add_vision_layers(LayerCases& cases);
void add_recurrent_layers(LayerCases& cases);

}  // namespace glim::specs
