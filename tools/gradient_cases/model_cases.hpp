// Gradient checks of whole models: shared by the files of model cases.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/op_form.hpp"
#include "nn/module.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/op_specs.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim::specs {

// Zeros, ones and 0.02, as parameters begin, would hide mistakes.
inline void spread(Module& model) {
  model.to(DType::Float64);
  for (auto& [path, p] : model.named_parameters())
    p.value().copy_(uniform(p.shape(), -1, 1, generator().next(), DType::Float64));
}

// How a model is checked: fused, explicit, or by the gradient of its gradient.
struct ModelForm {
  OpForm magnification = OpForm::Fused;
  bool second_order = false;
};

// By random projection: each parameter's gradient becomes one number.
inline GradcheckReport check_model(const std::string& name, const ModelForm& form,
                                   const NamedParameters& parameters,
                                   const std::function<Var()>& loss, int directions = 3) {
  UseForm use(form.magnification);
  GradcheckOptions o;
  o.name = name;
  o.mode = GradcheckOptions::Mode::Projection;
  o.directions = directions;
  o.second_order = form.second_order;
  return gradcheck(loss, parameters, o);
}

// A case for each form; where the model has kinks, none of the second order.
inline void add_model(std::vector<Case>& cases, const std::string& op, const std::string& name,
                      const std::function<GradcheckReport(const ModelForm&)>& check,
                      bool kinks = false, bool second_order = true) {
  auto add = [&](const char* more, ModelForm form) {
    cases.push_back({"models", op, name + more, [=] { return check(form); }, kinks});
  };
  add("", {});
  add(", explicit", {OpForm::Explicit});
  if (!kinks && second_order) add(", second order", {OpForm::Fused, true});
}

}  // namespace glim::specs
