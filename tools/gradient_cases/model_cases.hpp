// Gradient checks of whole models: shared by the files of model cases.
#pragma once

#include <string>
#include <vector>

#include "autograd/op_form.hpp"
#include "nn/module.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/op_specs.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim::specs {

struct ModelCase {
  std::string op, name;
  std::uint64_t seed = 5;
  bool kinks = false;  // none of the second order then
  bool second_order = true;
  bool spread = true;  // parameters in ±1: the zeros, ones and 0.02 of new ones would hide mistakes
  int directions = 3;
  Shape x = {};  // shape of an input whose gradient is checked, too
};

// A case for each form of loss(Model(args...), x): fused, explicit, and the gradient of the gradient. By random
// projection: each parameter's gradient becomes one number.
template <class Model, class Loss, class... Args>
void add_model(std::vector<Case>& cases, const ModelCase& c, Loss loss, Args... args) {
  auto add = [&](const char* more, OpForm form, bool second_order) {
    auto check = [=] {
      seed(c.seed);
      Model model(args...);
      model.to(DType::Float64);
      auto drawn = [](const Shape& shape) {
        return uniform(shape, -1, 1, generator().next(), DType::Float64);
      };
      NamedParameters leaves = model.named_parameters();
      if (c.spread)
        for (auto& [path, p] : leaves) p.value().copy_(drawn(p.shape()));
      if (!c.x.empty()) leaves.emplace_back("x", Var::leaf(drawn(c.x)));
      const Var x = leaves.back().second;
      UseForm use(form);
      GradcheckOptions o;
      o.name = c.op;
      o.mode = GradcheckOptions::Mode::Projection;
      o.directions = c.directions;
      o.second_order = second_order;
      return gradcheck([&]() -> Var { return loss(model, x); }, leaves, o);
    };
    cases.push_back({"models", c.op, c.name + more, check, c.kinks});
  };
  add("", OpForm::Fused, false);
  add(", explicit", OpForm::Explicit, false);
  if (!c.kinks && c.second_order) add(", second order", OpForm::Fused, true);
}

}  // namespace glim::specs
