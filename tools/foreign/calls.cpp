#include "tools/foreign/calls.hpp"

#include <algorithm>

#include "tensor/ops/elementwise.hpp"
#include "tools/common/counted.hpp"

namespace glim::foreign {

Tensors copies(const Tensors& list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(x.defined() ? x.clone() : x);
  return all;
}

Calls::Calls(const Callbacks& f, const std::vector<GradcheckInput>& list) : inputs(list), f_(f) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].name.empty()) inputs[k].name = "x" + std::to_string(k);
    selection.push_back(inputs[k].check && is_floating(inputs[k].value.dtype()));
  }
}

Callbacks Calls::as_function() {
  return {[this](const Tensors& x) { return value(x); },
          [this](const Tensors& x, const Tensors& dy) { return gradient(x, dy); }};
}

std::vector<GradcheckInput> Calls::selected_inputs() const {
  std::vector<GradcheckInput> list = inputs;
  for (std::size_t k = 0; k < list.size(); ++k) list[k].check = selection[k];
  return list;
}

void Calls::note_changes(const char* who, const Tensors& after, const Tensors& before, bool is_dy) {
  for (std::size_t k = 0; k < before.size() && changed.empty(); ++k)
    if (before[k].defined() && !same_bits(after[k], before[k].contiguous()))
      changed = std::string(who) + " changes " + (is_dy ? "dy" : "its input " + inputs[k].name) +
                " in place";
}

Tensors Calls::value(const Tensors& x) {
  const Tensors arguments = copies(x);
  const Tensors y = copies(f_.value(arguments));
  note_changes("f", arguments, x, false);
  std::vector<std::string> shapes;
  for (const Tensor& one : y) {
    if (!one.defined())
      throw FormError("output " + std::to_string(shapes.size()) + " of f is no array");
    shapes.push_back(to_string(one.shape()));
  }
  if (outputs_.empty()) outputs_ = shapes;
  if (shapes.size() != outputs_.size())
    throw FormError("f returns " + counted(shapes.size(), "output") + ", and returned " +
                    std::to_string(outputs_.size()) + " before");
  for (std::size_t o = 0; o < shapes.size(); ++o)
    if (shapes[o] != outputs_[o])
      throw FormError("the shape of output " + std::to_string(o) +
                      " depends on the values of the inputs: " + shapes[o] + " after " +
                      outputs_[o]);
  return y;
}

Calls Calls::with_inputs(const Tensors& x) const {
  std::vector<GradcheckInput> list = selected_inputs();
  for (std::size_t k = 0; k < list.size(); ++k) list[k].value = x[k];
  return {f_, list};
}

Tensors Calls::gradient(const Tensors& x, const Tensors& dy) {
  if (value_first) value(x);
  return formed(x, dy, f_.gradient);
}

Tensors Calls::rewritten(const Tensors& x, const Tensors& dy) {
  return f_.rewritten ? formed(x, dy, f_.rewritten) : gradient(x, dy);
}

Tensors Calls::interrupted(const Tensors& x, const Tensors& dy, const Tensors& others) {
  if (!f_.interrupted) return gradient(x, dy);
  return formed(x, dy, [&](const Tensors& arguments, const Tensors& upstream) {
    return f_.interrupted(arguments, upstream, copies(others));
  });
}

// The result of one call of a gradient, brought into form.
template <class Gradient>
Tensors Calls::formed(const Tensors& x, const Tensors& dy, const Gradient& call) {
  const Tensors arguments = copies(x), upstream = copies(dy);
  Tensors dx = copies(call(arguments, upstream));
  note_changes("backward", arguments, x, false);
  note_changes("backward", upstream, dy, true);
  // Gradients of the floating inputs alone will do.
  const auto is_float = [](const Tensor& t) { return is_floating(t.dtype()); };
  if (dx.size() < x.size() && std::ssize(dx) == std::count_if(x.begin(), x.end(), is_float))
    for (std::size_t k = 0; k < x.size(); ++k)
      if (!is_float(x[k])) dx.insert(dx.begin() + static_cast<std::ptrdiff_t>(k), Tensor());
  if (dx.size() != x.size())
    throw FormError("backward returns " + counted(dx.size(), "gradient") + " for " +
                    counted(x.size(), "input"));
  if (repair) repair(dx);
  Tensors all;
  for (std::size_t k = 0; k < x.size(); ++k) all.push_back(in_form(k, x[k], dx));
  return all;
}

Tensor Calls::in_form(std::size_t k, const Tensor& x, const Tensors& dx) {
  if (!selection[k]) return {};
  if (!dx[k].defined()) return zeros(x.shape(), x.dtype());
  if (dx[k].shape() != x.shape()) {
    FormError e("the gradient of " + inputs[k].name + " has shape " + to_string(dx[k].shape()) +
                ", " + inputs[k].name + " has " + to_string(x.shape()));
    e.input = k;
    e.gradients = dx;
    throw e;
  }
  const bool fits = dx[k].dtype() == x.dtype() || dx[k].dtype() == DType::Float64;
  if (!fits && dtype_mistaken.empty())
    dtype_mistaken = "the gradient of " + inputs[k].name + " is " +
                     std::string(name_of(dx[k].dtype())) + ", " + inputs[k].name + " is " +
                     std::string(name_of(x.dtype()));
  return dx[k].to(x.dtype());
}

}  // namespace glim::foreign
