#include "tools/python/modules.hpp"

#include <algorithm>
#include <deque>
#include <sstream>

namespace glim::python {

using namespace nb::literals;
namespace {

nb::list listed(const NamedParameters& parameters) {
  nb::list all;
  for (const auto& [name, v] : parameters) all.append(nb::make_tuple(name, v));
  return all;
}

void write(const Var& parameter, const Tensor& value) {
  if (value.shape() != parameter.shape())
    throw ShapeError("parameter", parameter.name() + " must keep its shape",
                     {{"parameter", parameter}, {"value", value}});
  parameter.leaf().value.copy_(value.to(parameter.dtype()), user_line());
}

// A module of Python whose __init__ has not called Module's has no parts yet.
Module& module_of(nb::handle self) {
  if (!nb::inst_ready(self))
    throw StateError(
        "module",
        type_of(self) + " has no parts yet: call super().__init__() first in its __init__");
  return nb::cast<Module&>(self);
}

nb::object attribute(nb::handle self, const std::string& name) {
  Module& module = module_of(self);
  for (const auto& [child, m] : module.children())
    if (child == name) return wrapped(*m, self);
  if (const Var* v = module.parameter(name)) return nb::cast(*v);
  if (const Tensor* buffer = module.buffer(name)) return nb::cast(*buffer);
  throw nb::attribute_error(
      text_of(nb::module_::import_("glim._words").attr("missing")(self, name)).c_str());
}

// Registered by `self.weight = glim.Param(array)`.
struct ParamMark {
  Tensor initial;
};
struct BufferMark {
  Tensor initial;
};

void set_plainly(nb::handle self, nb::handle name, nb::handle value) {
  if (PyObject_GenericSetAttr(self.ptr(), name.ptr(), value.ptr()) != 0) throw nb::python_error();
}

// A module that is written in Python: attributes that are modules, parameters and buffers register as they are set.
struct PyModule : Module {
  std::deque<Param> params;
  std::deque<Buffer> buffers;
};

struct PyList : Module {
  PyList() : Module(true) {}
};

void set_own_attribute(PyModule& module, nb::handle self, nb::str name, nb::handle value) {
  const std::string called = nb::cast<std::string>(name);
  for (const auto& child : module.children())
    if (child.first == called)
      throw StateError(
          "module", type_of(self) + " has a member '" + called + "' already; a member is set once");
  if (const ParamMark* p = nullptr; nb::try_cast<const ParamMark*>(value, p) && p) {
    module.params.emplace_back(module, called, p->initial);
    return set_plainly(self, name, nb::cast(Var(module.params.back())));
  }
  if (const BufferMark* b = nullptr; nb::try_cast<const BufferMark*>(value, b) && b) {
    module.buffers.emplace_back(module, called, b->initial);
    return set_plainly(self, name, nb::cast(static_cast<const Tensor&>(module.buffers.back())));
  }
  if (Module* child = nullptr; nb::try_cast<Module*>(value, child) && child)
    module.register_child(called, *child);
  set_plainly(self, name, value);
}

// A parameter keeps its leaf: its value is written.
void set_attribute(nb::handle self, nb::str name, nb::handle value) {
  Module& module = module_of(self);
  if (const Var* v = module.parameter(nb::cast<std::string>(name)))
    write(*v, nb::cast<Arg>(value).constant(v->name()));
  else if (auto* python = dynamic_cast<PyModule*>(&module))
    set_own_attribute(*python, self, name, value);
  else
    set_plainly(self, name, value);
}

bool contains(const Module& module, const Module* part) {
  return std::ranges::any_of(module.children(), [&](const auto& child) {
    return child.second == part || contains(*child.second, part);
  });
}

// TypeError for modules in a list, which no optimizer would see.
void require_members(nb::handle self, const Module& module) {
  for (auto [name, value] : nb::cast<nb::dict>(self.attr("__dict__"))) {
    nb::object list = nb::borrow(value);
    if (nb::isinstance<nb::dict>(value))
      list = value.attr("values")();
    else if (!nb::isinstance<nb::list>(value) && !nb::isinstance<nb::tuple>(value))
      continue;
    for (nb::handle one : list)
      if (Module* m = nullptr; nb::try_cast<Module*>(one, m) && m && !contains(module, m))
        throw nb::type_error((type_of(self) + "." + text_of(name) + " is a " + type_of(value) +
                              " of modules, whose parameters no optimizer would see: make it a "
                              "glim.ModuleList")
                                 .c_str());
  }
}

// Floating arrays get the dtype of the module, as those that its layers are given do.
nb::object call(nb::handle self, nb::args args, nb::kwargs options) {
  Module& module = module_of(self);
  if (dynamic_cast<const PyModule*>(&module)) require_members(self, module);
  nb::list arguments;
  std::optional<DType> dtype;
  for (nb::handle x : args) {
    const bool array =
        x.type().is(numpy_class(NumpyClass::Array)) && text_of(x.attr("dtype").attr("kind")) == "f";
    if (array && (dtype || (dtype = dtype_of(module))))
      arguments.append(x.attr("astype")(std::string(name_of(*dtype)), "copy"_a = false));
    else
      arguments.append(x);
  }
  return module.in_scope(
      [&] { return call_python([&] { return self.attr("forward")(*arguments, **options); }); });
}

}  // namespace

nb::dict dict_of(const StateDict& state) {
  nb::dict all;
  for (const auto& [name, tensor] : state) all[name.c_str()] = tensor;
  return all;
}

StateDict state_of(nb::dict arrays) {
  StateDict state;
  for (auto [key, value] : arrays) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    state[name] = nb::cast<Arg>(value).constant(name);
  }
  return state;
}

void bind_modules(nb::module_& m) {
  nb::class_<Module, PyModule>(m, "Module",
                               "Parameters, buffers and children under names.\n\n"
                               "To write one, derive from it: set modules, Params and Buffers as "
                               "attributes in __init__, and "
                               "write forward.",
                               nb::dynamic_attr(), nb::is_weak_referenceable())
      .def("__init__", [](Module* self) { new (self) PyModule(); })
      .def("__call__", &call, "args"_a, "options"_a, "Enters the module's name and calls forward.")
      .def("parameters", &Module::parameters, "Leaves in order of registration, shared ones once.")
      .def(
          "named_parameters", [](const Module& x) { return listed(x.named_parameters()); },
          "(name, leaf) of each parameter.")
      .def("named_buffers", &Module::named_buffers)
      .def(
          "children",
          [](nb::handle self) {
            nb::list all;
            for (const auto& [name, child] : nb::cast<Module&>(self).children())
              all.append(nb::make_tuple(name, wrapped(*child, self)));
            return all;
          },
          "(name, module) of each child.")
      .def_prop_ro("parameter_count", &Module::parameter_count, "Elements; shared ones once.")
      .def("parameter_vector", &Module::parameter_vector,
           "All parameters as one vector, in the order of named_parameters(): a copy.")
      .def(
          "set_parameter_vector",
          [](const Module& x, const Arg& values) {
            x.set_parameter_vector(values.constant("values"));
          },
          "values"_a, "Copies a vector into the parameters: a call of the model is then at others.")
      .def(
          "train",
          [](nb::handle self, bool on) {
            nb::cast<Module&>(self).train(on);
            return nb::borrow(self);
          },
          "on"_a = true, "This module and all below. Returns the module.")
      .def("eval", [](nb::handle self) { return self.attr("train")(false); })
      .def_prop_ro("training", &Module::training)
      .def("zero_grad", &Module::zero_grad)
      .def(
          "to",
          [](nb::handle self, const DTypeArg& dtype) {
            nb::cast<Module&>(self).to(dtype_of(dtype));
            return nb::borrow(self);
          },
          "dtype"_a,
          "Converts parameters and floating buffers; gradients are dropped. Returns the module.")
      .def("freeze", &Module::freeze, "pattern"_a,
           "Parameters whose name matches are constants from now on. Returns the names.")
      .def("unfreeze", &Module::unfreeze, "pattern"_a = "*")
      .def(
          "state_dict", [](const Module& x) { return dict_of(x.state_dict()); },
          "Tensors by name: the module's own, not copies.")
      .def(
          "load_state_dict",
          [](Module& x, nb::dict state, bool strict) {
            x.load_state_dict(state_of(state), strict);
          },
          "state"_a, "strict"_a = true,
          "Copies values in. ValueError naming what is missing or unknown, ShapeError naming the "
          "parameter.")
      .def(
          "save", [](const Module& x, const std::string& file) { save(x, file); }, "file"_a,
          "The state as a safetensors file.")
      .def(
          "load", [](Module& x, const std::string& file) { load(x, file); }, "file"_a)
      .def("__getattr__", &attribute, "name"_a)
      .def("__setattr__", &set_attribute, "name"_a, "value"_a.none())
      .def("__repr__", [](nb::handle self) {
        std::ostringstream out;
        out << nb::cast<Module&>(self);
        const std::string text = out.str(), name = type_of(self);
        return name == "Module"
                   ? text
                   : name + text.substr(text.find(": "));  // "Linear: 6 parameters ..."
      });
  nb::class_<Layer, Module>(m, "Layer", "A module that maps a Var to a Var.")
      .def(
          "__call__",
          [](Layer& l, const Arg& x) {
            return convert_for(l, {{x, "x"}}), l(x("x"));
          },
          "x"_a);
  auto mark = [&]<class Mark>(Mark*, const char* name, const char* doc) {
    nb::class_<Mark>(m, name, doc)
        .def(
            "__init__",
            [](Mark* self, const Arg& initial) {
              new (self) Mark{initial.constant("initial").clone()};
            },
            "initial"_a);
  };
  mark(static_cast<ParamMark*>(nullptr), "Param",
       "A parameter in the making: self.weight = glim.Param(array).");
  mark(static_cast<BufferMark*>(nullptr), "Buffer",
       "A buffer in the making: self.mean = glim.Buffer(array).");
  nb::class_<PyList, Module>(m, "ListBase", nb::dynamic_attr())
      .def(nb::init<>())
      .def("_register", [](PyList& list, const std::string& name, Module& child) {
        list.register_child(name, child);
      });
}

}  // namespace glim::python
