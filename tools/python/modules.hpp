// Modules of Python: those of C++ with their parameters, and those that are written in Python.
#pragma once

#include "nn/vision/conv.hpp"
#include "tools/python/vars.hpp"

namespace glim::python {

// The class of a module, and of a layer, which maps a Var to a Var.
template <class M>
nb::class_<M, Module> module(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<M, Module>(m, name, doc, nb::dynamic_attr());
}
template <class M>
nb::class_<M, Layer> layer(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<M, Layer>(m, name, doc, nb::dynamic_attr());
}

// A module of C++ as the class that Python knows it by; `parent` lives as long.
nb::object wrapped(Module& child, nb::handle parent);
nb::dict dict_of(const StateDict& state);
StateDict state_of(nb::dict arrays);  // of tensors or arrays
Extent2 extent_of(const char* what, const DimsArg& d);

// A mask of keys (S,) as that of the only sequence.
template <class X>
X of_keys(const X& mask) {
  return mask.defined() && mask.rank() == 1 ? unsqueeze(mask, 0) : mask;
}
// TypeError for arguments that a layer of attention does not have, with what to give for torch's masks. `before` says
// what comes before the name of a mask.
void refuse_unknown(const std::string& layer, nb::kwargs unknown, const std::string& before = "");

void bind_modules(nb::module_& m);  // Module, Layer, and what Python derives from
void bind_layers(nb::module_& m);
void bind_transformer_layers(nb::module_& m);
void bind_models(nb::module_& m);
void bind_own_ops(nb::module_& m);
void bind_trace(nb::module_& m);
void bind_optimizers(nb::module_& m);
void bind_curvature(nb::module_& m);
// A module, or a list of leaves.
NamedParameters parameters_of(nb::handle parameters);

}  // namespace glim::python
