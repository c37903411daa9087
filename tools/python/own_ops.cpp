// Ops that are written in Python.
#include "tools/python/modules.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

// forward(*arrays) -> array, and gradient(dy, *inputs) -> a Var or array for each input.
struct OwnOp final : Op {
  static constexpr Formula formula{"own", "y = f(x)", {}};
  std::shared_ptr<nb::object> python;
  std::size_t count = 0;

  Tensor forward(const std::vector<Tensor>& x) {
    for (std::size_t k = 0; k < x.size(); ++k) save(static_cast<int>(k));
    count = x.size();
    return call_back([&] { return result_of(x); });  // a pass runs ops again without the lock
  }
  Grads gradient(const Var& dy) const override {
    return call_back([&] { return gradient_of(dy); });
  }

 private:
  Tensor result_of(const std::vector<Tensor>& x) const {
    nb::list arrays;
    for (const Tensor& t : x) arrays.append(numpy_of(t, true));
    nb::object y = call_python([&] { return python->attr("forward")(*arrays); });
    if (y.is_none())
      throw ValueError(name(), "forward returned None; it returns an array. Is a return missing?");
    const Var value = var_of(y, "the result of forward");
    require_constant(value, "the result of forward");
    return value.value().clone();
  }
  Grads gradient_of(const Var& dy) const {
    nb::list inputs;
    for (std::size_t k = 0; k < count; ++k) inputs.append(saved(static_cast<int>(k)));
    nb::object result = call_python([&] { return python->attr("gradient")(dy, *inputs); });
    if (result.is_none())
      throw ValueError(
          name(), "gradient returned None; it returns ∂L/∂x for each input. Is a return missing?");
    nb::tuple all = nb::isinstance<nb::tuple>(result) || nb::isinstance<nb::list>(result)
                        ? nb::tuple(result)
                        : nb::make_tuple(result);
    if (all.size() != count)
      throw ValueError(name(), "gradient returned " + std::to_string(all.size()) +
                                   " gradients; the op has " + std::to_string(count) + " inputs");
    Grads grads;
    for (std::size_t k = 0; k < count; ++k)
      if (needs_grad(k)) {
        if (all[k].is_none())
          throw ValueError(name(), "gradient returned None for input " + std::to_string(k) +
                                       ", which has a gradient; return zeros where it is 0");
        if (Tape::current() && all[k].type().is(numpy_class(NumpyClass::Array)))
          throw nb::type_error((name() + ": gradient returned an array for input " +
                                std::to_string(k) +
                                ", through which create_graph loses the derivative: make it of ops "
                                "of Glim, or glim.Var(array) if it is a constant")
                                   .c_str());
        grads[k] =
            var_of(all[k], "gradient " + std::to_string(k), saved(static_cast<int>(k)).dtype());
      }
    return grads;
  }

 public:
  std::string name() const { return type_of(*python); }
};

}  // namespace

void bind_own_ops(nb::module_& m) {
  m.def(
      "apply",
      [](nb::handle op, const nb::typed<nb::sequence, Arg>& inputs) {
        require_list(inputs, "inputs");
        OwnOp operation;
        operation.python = kept(nb::borrow(op));
        const std::string label = operation.name();
        return named(
            apply(std::move(operation), vars_of(nb::cast<std::vector<Arg>>(inputs)), user_line()),
            label);
      },
      "op"_a, "inputs"_a, "Records an op of Python: see glim.Op.");
}

}  // namespace glim::python
