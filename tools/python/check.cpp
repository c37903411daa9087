// glim.gradcheck: functions of Python under Glim's checker (tools/foreign).
#include <algorithm>
#include <limits>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensor/interrupt.hpp"
#include "tools/foreign/function.hpp"
#include "tools/python/arrays.hpp"

namespace glim::python {
namespace {

// Arrays for a call of Python; None for an undefined tensor.
nb::list arrays_of(const Tensors& tensors) {
  nb::list all;
  for (const Tensor& x : tensors)
    if (x.defined())
      all.append(numpy_of(x));
    else
      all.append(nb::none());
  return all;
}

Tensors tensors_of(nb::handle arrays) {
  Tensors all;
  for (nb::handle x : arrays) all.push_back(x.is_none() ? Tensor() : tensor_of(x));
  return all;
}

// Ctrl-C within the callback ends the check. Other exceptions may be a finding.
template <class... List>
Tensors called(const nb::callable& f, const List&... arrays) {
  try {
    return tensors_of(call_python([&] { return f(arrays...); }));
  } catch (const nb::python_error& e) {
    if (e.matches(PyExc_KeyboardInterrupt)) throw Interrupted{};
    throw;
  }
}

using NamedInput = std::tuple<std::string, nb::object, bool>;  // name, array, checked

// Writes the values of tensors into arrays; into new ones where a shape or a dtype is another.
void write_anew(nb::list arrays, const Tensors& tensors) {
  const nb::list sources = arrays_of(tensors);
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].defined() && arrays[k].attr("shape").equal(sources[k].attr("shape")) &&
        arrays[k].attr("dtype").equal(sources[k].attr("dtype")))
      arrays[k][nb::ellipsis()] = sources[k];
    else
      arrays[k] = sources[k];
}

FunctionReport check(nb::callable value, nb::callable gradient, nb::object interrupted_gradient,
                     const std::vector<NamedInput>& named, std::string name, bool full,
                     bool precise, double atol, double rtol, std::uint64_t seed,
                     std::size_t fixed_shapes, bool refuses_misfits) {
  std::vector<GradcheckInput> inputs;
  for (const auto& [input, array, checked] : named)
    inputs.emplace_back(input, tensor_of(array, input), checked);
  Callbacks function;
  function.value = [&](const Tensors& x) { return called(value, arrays_of(x)); };
  function.fixed_shapes = fixed_shapes;
  function.refuses_misfits = refuses_misfits;
  nb::list last_x, last_dy;  // the arrays of the last call of backward
  function.gradient = [&](const Tensors& x, const Tensors& dy) {
    last_x = arrays_of(x), last_dy = arrays_of(dy);
    return called(gradient, last_x, last_dy);
  };
  function.rewritten = [&](const Tensors& x, const Tensors& dy) {
    write_anew(last_x, x), write_anew(last_dy, dy);
    return called(gradient, last_x, last_dy);
  };
  if (!interrupted_gradient.is_none())
    function.interrupted = [&](const Tensors& x, const Tensors& dy, const Tensors& others) {
      return called(nb::borrow<nb::callable>(interrupted_gradient), arrays_of(x), arrays_of(dy),
                    arrays_of(others));
    };
  GradcheckOptions options;
  options.name = std::move(name);
  if (!full) options.mode = GradcheckOptions::Mode::Projection;
  options.precise = precise;
  options.atol = atol;
  options.rtol = rtol;
  options.seed = seed;
  return check_function(function, inputs, options);
}

// The report's JSON, with the error of each element for the picture: over the allowed one, null where undecided.
std::string json_with_errors(const FunctionReport& report) {
  auto json = nlohmann::ordered_json::parse(report.to_json());
  for (std::size_t k = 0; k < report.differences.inputs.size(); ++k)
    for (double error : report.differences.inputs[k].errors)  // JSON has no infinity
      json["inputs"][k]["errors"].push_back(std::min(error, std::numeric_limits<double>::max()));
  return json.dump();
}

}  // namespace

void bind_gradcheck(nb::module_& m) {
  nb::class_<FunctionReport>(m, "FunctionReport")
      .def_prop_ro("passed", [](const FunctionReport& r) { return static_cast<bool>(r); })
      .def_prop_ro("text", &FunctionReport::text)
      .def_prop_ro("json", &json_with_errors);
  m.def("check_function", &check, nb::arg("value"), nb::arg("gradient"),
        nb::arg("interrupted").none(), nb::arg("inputs"), nb::kw_only(), nb::arg("name"),
        nb::arg("full"), nb::arg("precise"), nb::arg("atol"), nb::arg("rtol"), nb::arg("seed"),
        nb::arg("fixed_shapes"), nb::arg("refuses_misfits"));
}

}  // namespace glim::python
