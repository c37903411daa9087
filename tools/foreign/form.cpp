// Has each gradient the shape and dtype of its input? If not, which change of shape makes it right?
#include <algorithm>
#include <cmath>

#include "autograd/gradcheck/analytic.hpp"
#include "autograd/restored.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"
#include "tools/foreign/checks.hpp"
#include "tools/foreign/differences.hpp"

namespace glim::foreign {
namespace {

struct Repair {
  std::string mistake;
  std::function<Tensor(const Tensors& dx)> gradient;  // of the input
};

// The shapes differ in axes of extent 1 alone.
std::string axes_of_one(const Shape& source, const Shape& target) {
  std::vector<Index> a, b;
  std::copy_if(source.begin(), source.end(), std::back_inserter(a), [](Index n) { return n != 1; });
  std::copy_if(target.begin(), target.end(), std::back_inserter(b), [](Index n) { return n != 1; });
  if (a != b || source.rank() == target.rank()) return "";
  return source.rank() > target.rank() ? " (axes of extent 1 are too many: keepdims)"
                                       : " (axes of extent 1 are missing: keepdims)";
}

// Changes that give the gradient of input k its shape.
std::vector<Repair> repairs(std::size_t k, const Shape& shape, const FormError& wrong,
                            const std::vector<GradcheckInput>& inputs) {
  std::vector<Repair> all;
  const Tensor& dx = wrong.gradients[k];
  for (std::size_t other = 0; other < inputs.size(); ++other)
    if (other != k && wrong.gradients[other].defined() && wrong.gradients[other].shape() == shape)
      all.push_back({"the gradients come in another order: that of " + inputs[k].name +
                         " in the place of " + inputs[other].name + "'s",
                     [other](const Tensors& d) { return d[other]; }});
  const bool is_larger = dx.numel() > numel_of(shape);
  if (is_larger && broadcasts(shape, dx.shape()))
    all.push_back({"a broadcast not summed: " + wrong.text,
                   [k, shape](const Tensors& d) { return sum_to(d[k], shape); }});
  for (int axis = 0; is_larger && axis < dx.rank(); ++axis)
    if (sum(dx, {axis}).shape() == shape)
      all.push_back({"a broadcast not summed: " + wrong.text,
                     [k, axis](const Tensors& d) { return sum(d[k], {axis}); }});
  if (dx.rank() > 1 && transpose(dx).shape() == shape)
    all.push_back({"the gradient is transposed: " + wrong.text,
                   [k](const Tensors& d) { return transpose(d[k]); }});
  if (dx.numel() == numel_of(shape))
    all.push_back({"only the shape is wrong: " + wrong.text + axes_of_one(dx.shape(), shape),
                   [k, shape](const Tensors& d) { return reshape(d[k], shape); }});
  if (broadcasts(dx.shape(), shape))
    all.push_back({"the gradient is not expanded to the input: " + wrong.text,
                   [k, shape](const Tensors& d) { return broadcast_to(d[k], shape); }});
  return all;
}

// Gives the gradient that `wrong` is about its shape, by the change that makes it right, if one does. Else it is not
// wanted any more. Returns the mistake.
std::string mend(Probe& p, const FormError& wrong) {
  Calls& c = p.calls;
  const std::size_t k = wrong.input;
  const auto before = c.repair;
  std::vector<bool> only_k(c.inputs.size());
  only_k[k] = true;
  for (const Repair& r : repairs(k, c.inputs[k].value.shape(), wrong, c.inputs)) {
    c.repair = [before, r, k](Tensors& dx) {
      const Tensors returned = dx;
      if (before) before(dx);
      dx[k] = r.gradient(returned);
    };
    const Restored want(c.selection, only_k);
    try {
      if (right_along_two(c.as_function(), c.selected_inputs(), p.along_one())) return r.mistake;
    } catch (const Error&) {  // the change does not suit every dy
    } catch (const FormError&) {
    }
  }
  c.repair = before;
  c.selection[k] = false;
  return wrong.text;
}

bool has_dtype(const Tensors& list, DType dtype) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& x) { return x.dtype() == dtype; });
}

// "nan at [0, 1]" for the first element that is not finite, or for the first NaN; empty if there is none.
std::string not_finite(const Tensor& x, bool nan) {
  if (!x.defined()) return "";
  const std::vector<double> values = x.to(DType::Float64).to_vector<double>();
  const auto e = std::find_if(values.begin(), values.end(),
                              [nan](double v) { return nan ? std::isnan(v) : !std::isfinite(v); });
  return e == values.end()
             ? ""
             : number_text(*e) + " at " + to_string(detail::unravel(x.shape(), e - values.begin()));
}

// f at the inputs. If it computes in float32 whatever its inputs are, they become float32.
void evaluate(Probe& p) {
  for (const bool again : {false, true}) {
    p.x.clear();
    for (GradcheckInput& input : p.calls.inputs) {
      if (again && input.value.dtype() == DType::Float64)
        input.value = input.value.to(DType::Float32);
      p.x.push_back(input.value);
    }
    p.y = p.calls.value(p.x);
    if (!has_dtype(p.y, DType::Float32) || has_dtype(p.x, DType::Float32)) break;
  }
  if (has_dtype(p.x, DType::Float32)) p.near = std::max(p.near, 1e-3), p.step = 0x1p-7;
  if (!has_dtype(p.y, DType::Float32) && !has_dtype(p.y, DType::Float64))
    throw ValueError("gradcheck", "the function has no output of a floating dtype");
  for (std::size_t o = 0; o < p.y.size(); ++o)
    if (const std::string where = not_finite(p.y[o], true); !where.empty())
      throw FormError("f is not a number at these inputs: its output " + std::to_string(o) +
                      " is " + where + ". Choose inputs where it is");
}

}  // namespace

bool broadcasts(const Shape& source, const Shape& target) {
  if (source.rank() > target.rank()) return false;
  for (int a = 1; a <= source.rank(); ++a)
    if (Index n = source[source.rank() - a]; n != 1 && n != target[target.rank() - a]) return false;
  return true;
}

FunctionCheck check_form(Probe& p) {
  FunctionCheck form{"form", CheckVerdict::Passed, ""};
  auto fail = [&](const std::string& why) {
    if (form.verdict != CheckVerdict::Failed) form.detail = why;
    form.verdict = CheckVerdict::Failed;
  };
  p.shape_mistakes.resize(p.calls.inputs.size());
  try {
    evaluate(p);
    p.dy = p.random_dy(0);
    while (p.dx.empty()) try {
        p.dx = p.gradient(p.dy);
      } catch (const FormError& e) {
        if (e.gradients.empty()) throw;
        fail(p.shape_mistakes[e.input] = mend(p, e));
      }
  } catch (const FormError& e) {
    fail(e.text);
  }
  if (std::none_of(p.calls.selection.begin(), p.calls.selection.end(), [](bool b) { return b; }))
    p.dx.clear();
  if (const std::string& why = p.calls.dtype_mistaken; !why.empty()) fail(why);
  for (std::size_t k = 0; k < p.dx.size(); ++k)
    if (const std::string where = not_finite(p.dx[k], false); !where.empty())
      fail("the gradient of " + p.calls.inputs[k].name + " is not finite: " + where);
  return form;
}

}  // namespace glim::foreign
