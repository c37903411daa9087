// Optimizers, schedules and clipping.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/muon.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "tools/python/modules.hpp"

namespace glim::python {

using namespace nb::literals;

NamedParameters parameters_of(nb::handle parameters) {
  if (Module* m = nullptr; nb::try_cast<Module*>(parameters, m) && m) return m->named_parameters();
  auto refuse = [](const std::string& what) {
    throw nb::type_error(
        (what + "; pass a module, or a list of leaves: [w], w = glim.Var.leaf(array)").c_str());
  };
  if (nb::isinstance<Var>(parameters)) refuse("parameters: a Var alone is no list");
  std::vector<Var> leaves;
  for (nb::handle leaf : parameters) {
    const Var* v = nullptr;
    if (!nb::try_cast<const Var*>(leaf, v) || !v || !v->is_leaf())
      refuse("parameters[" + std::to_string(leaves.size()) + "] is a " + type_of(leaf) +
             (v ? " that is no leaf" : ""));
    leaves.push_back(*v);
  }
  return NamedParameters(leaves);
}

void bind_optimizers(nb::module_& m) {
  nb::class_<Optimizer> optimizer(
      m, "Optimizer", "One step down the gradients that backward left in the parameters.");
  optimizer.def("step", [](Optimizer& o) { o.step(user_line()); })
      .def("zero_grad", &Optimizer::zero_grad, "Drops the gradients.")
      .def_prop_rw("rate", &Optimizer::rate, &Optimizer::set_rate)
      .def_prop_ro("steps", &Optimizer::steps)
      .def("state_dict", [](const Optimizer& o) { return dict_of(o.state_dict()); })
      .def(
          "load_state_dict",
          [](Optimizer& o, nb::dict state) { o.load_state_dict(state_of(state)); }, "state"_a);
  optimizer.def(
      "adjoint",
      [](const Optimizer& o, nb::dict after) { return dict_of(o.adjoint(state_of(after))); },
      "after"_a,
      "The transpose of the step that step() would take: from ∂q/∂(parameters, state) after it to "
      "those before it, and ∂q/∂gradient. Keys are 'NAME', 'STATE.NAME' and 'gradient.NAME'.");
  nb::class_<Sgd, Optimizer>(m, "SGD",
                             "As torch.optim.SGD; parameters: a module, or a list of leaves.")
      .def(
          "__init__",
          [](Sgd* self, nb::handle p, double lr, double momentum, double dampening, double decay,
             bool nesterov) {
            new (self) Sgd(parameters_of(p), {lr, momentum, dampening, decay, nesterov});
          },
          "parameters"_a, "lr"_a = 1e-3, "momentum"_a = 0, "dampening"_a = 0, "weight_decay"_a = 0,
          "nesterov"_a = false);
  nb::class_<Adam, Optimizer>(
      m, "Adam",
      "Kingma & Ba 2015, as torch.optim.Adam; parameters: a module, or a list of leaves.")
      .def(
          "__init__",
          [](Adam* self, nb::handle p, double lr, std::pair<double, double> betas, double eps,
             double decay) {
            new (self) Adam(parameters_of(p), {lr, betas.first, betas.second, eps, decay});
          },
          "parameters"_a, "lr"_a = 1e-3, "betas"_a = nb::make_tuple(0.9, 0.999), "eps"_a = 1e-8,
          "weight_decay"_a = 0);
  nb::class_<AdamW, Adam>(m, "AdamW", "Loshchilov & Hutter 2019, as torch.optim.AdamW.")
      .def(
          "__init__",
          [](AdamW* self, nb::handle p, double lr, std::pair<double, double> betas, double eps,
             double decay, bool matrices_only) {
            new (self)
                AdamW(parameters_of(p), {lr, betas.first, betas.second, eps, decay, matrices_only});
          },
          "parameters"_a, "lr"_a = 1e-3, "betas"_a = nb::make_tuple(0.9, 0.999), "eps"_a = 1e-8,
          "weight_decay"_a = 0.01, "decay_matrices_only"_a = false);
  nb::class_<Muon, Adam>(m, "Muon",
                         "Jordan et al. 2024, as torch.optim.Muon: of matrices alone; the other "
                         "parameters are for another optimizer.")
      .def(
          "__init__",
          [](Muon* self, nb::handle p, double lr, double decay, double momentum, bool nesterov,
             std::array<double, 3> coefficients, double eps, Index steps,
             const std::optional<std::string>& adjust) {
            const std::string rule = adjust.value_or("original");
            if (rule != "original" && rule != "match_rms_adamw")
              throw ValueError("muon", "adjust_lr_fn is '" + rule +
                                           "', expected 'original' or 'match_rms_adamw'");
            new (self) Muon(parameters_of(p), {lr, decay, momentum, nesterov, coefficients, eps,
                                               steps, rule == "match_rms_adamw"});
          },
          "parameters"_a, "lr"_a = 1e-3, "weight_decay"_a = 0.1, "momentum"_a = 0.95,
          "nesterov"_a = true, "ns_coefficients"_a = MuonOptions{}.coefficients, "eps"_a = 1e-7,
          "ns_steps"_a = 5, "adjust_lr_fn"_a = nb::none());
  nb::class_<Schedule>(
      m, "Schedule",
      "Learning rates by step, from 1 on: optimizer.rate = schedule(optimizer.steps + 1).")
      .def("__call__", &Schedule::rate, "step"_a)
      .def("__repr__", &Schedule::describe);
  m.def("noam_schedule", &noam_schedule, "d_model"_a, "warmup"_a, "factor"_a = 1,
        "Vaswani et al. 2017, equation 3.");
  m.def("inverse_sqrt_schedule", &inverse_sqrt_schedule, "peak"_a, "warmup"_a, "start"_a = 0);
  m.def("cosine_schedule", &cosine_schedule, "peak"_a, "warmup"_a, "total"_a, "floor"_a = 0);
  m.def("constant_schedule", &constant_schedule, "rate"_a);
  m.def(
      "clip_grad_norm",
      [](nb::handle p, double norm) { return clip_gradient_norm(parameters_of(p), norm); },
      "parameters"_a, "max_norm"_a, "Scales the gradients together; returns the norm they had.");
  m.def(
      "clip_grad_norm_adjoint",
      [](nb::dict gradients, double norm, nb::dict dgs) {
        const StateDict g = state_of(gradients), up = state_of(dgs);
        std::vector<Tensor> gs, ups;
        for (const auto& [name, x] : g) {
          gs.push_back(x);
          auto entry = up.find(name);
          if (entry == up.end()) throw ValueError("clip_grad_norm_adjoint", "dgs lacks " + name);
          ups.push_back(entry->second);
        }
        StateDict result;
        const std::vector<Tensor> back = clip_adjoint(gs, norm, ups);
        for (auto [entry, k] = std::pair(g.begin(), std::size_t{0}); entry != g.end(); ++entry, ++k)
          result[entry->first] = back[k];
        return dict_of(result);
      },
      "gradients"_a, "max_norm"_a, "dgs"_a,
      "The transpose of clip_grad_norm, of gradients by name as they were before it.");
  m.def(
      "grad_norm", [](nb::handle p) { return gradient_norm(parameters_of(p)); }, "parameters"_a);
}

}  // namespace glim::python
