// Gradient checks of layers and of whole models: shared by their files.
#pragma once

#include <string>
#include <vector>

#include "autograd/op_form.hpp"
#include "nn/module.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/op_specs.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim::specs {

inline constexpr DType kDouble = DType::Float64;

struct ModuleCase {
  std::string op, name;
  std::uint64_t seed = 5;
  bool kinks = false;  // none of the second order then
  bool second_order = true;
  bool spread = true;  // parameters in ±1: the zeros, ones and 0.02 of new ones would hide mistakes
  int directions = 3;  // of a random projection, which makes one number of each gradient; 0: none
  Shape x = {};        // shape of an input whose gradient is checked, too
  std::string family = "models";
};

// A case for each form of call(M(args...), x): fused, explicit, and the gradient of the gradient.
template <class M, class Call, class... Args>
void add_module(std::vector<Case>& cases, const ModuleCase& c, Call call, Args... args) {
  auto add = [&](const char* suffix, OpForm form, bool second_order) {
    auto check = [=] {
      seed(c.seed);
      M module(args...);
      module.to(kDouble);
      auto drawn = [](const Shape& shape) {
        return uniform(shape, -1, 1, generator().next(), kDouble);
      };
      NamedParameters leaves = module.named_parameters();
      if (c.spread)
        for (auto& [path, p] : leaves) p.value().copy_(drawn(p.shape()));
      if (!c.x.empty()) leaves.emplace_back("x", Var::leaf(drawn(c.x)));
      const Var x = leaves.back().second;
      UseForm use(form);
      GradcheckOptions o;
      o.name = c.op;
      if (c.directions > 0) {
        o.mode = GradcheckOptions::Mode::Projection;
        o.directions = c.directions;
      }
      o.second_order = second_order;
      return gradcheck([&]() -> Var { return call(module, x); }, leaves, o);
    };
    cases.push_back({c.family, c.op, c.name + suffix, check, c.kinks});
  };
  add("", OpForm::Fused, false);
  add(", explicit", OpForm::Explicit, false);
  if (!c.kinks && c.second_order) add(", second order", OpForm::Fused, true);
}

// A layer's case, which checks every element. `x` is the shape of its input, if there is one.
inline ModuleCase of_layer(const std::string& op, const std::string& name, const Shape& x) {
  return {.op = op, .name = name, .seed = 20, .directions = 0, .x = x, .family = "layers"};
}
template <class L, class... Args>
void add_layer(std::vector<Case>& cases, const std::string& op, const std::string& name,
               const Shape& x, Args... args) {
  add_module<L>(
      cases, of_layer(op, name, x), [](L& called, const Var& v) { return called(v); }, args...);
}

// One for each file of layer cases.
void add_vision_layers(std::vector<Case>& cases);
void add_recurrent_layers(std::vector<Case>& cases);

}  // namespace glim::specs
