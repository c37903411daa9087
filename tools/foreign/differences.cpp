#include "tools/foreign/differences.hpp"

#include <algorithm>

#include "autograd/gradcheck/analytic.hpp"
#include "autograd/ops.hpp"
#include "tensor/ops/index.hpp"

namespace glim::foreign {
namespace {

bool all_of_dtype(const Tensors& list, DType dtype) {
  return std::all_of(list.begin(), list.end(), [&](const Tensor& x) {
    return x.dtype() == dtype || !is_floating(x.dtype());
  });
}

// Several outputs become one vector, in the dtype of the first.
struct Foreign final : Op {
  static constexpr Formula formula{"foreign", "y = f(x)", {}};
  Foreign(const Callbacks& function, bool float32) : f(&function), lower(float32) {}

  Tensor forward(const Tensors& inputs) {
    x = inputs;
    // Differences of a function of float32 are in float64 if it takes that.
    const bool raised = lower && all_of_dtype(inputs, DType::Float64);
    try {
      y = f->value(inputs);
    } catch (const std::exception&) {
      if (raised) throw DTypeError("gradcheck", "the function takes no float64");
      throw;
    }
    Tensors parts;
    for (const Tensor& one : y) {
      if (!is_floating(one.dtype())) continue;
      if (raised && one.dtype() == DType::Float32)
        throw DTypeError("gradcheck", "the function computes in float32");
      parts.push_back(one);
    }
    if (parts.size() == 1) return parts[0];
    for (Tensor& part : parts) part = reshape(part.to(parts[0].dtype()), {-1});
    return concatenate(parts, 0);
  }

  Grads gradient(const Var& dy) const override {
    Tensors upstream;
    Index begin = 0;
    const Tensor all = reshape(dy.value(), {-1});
    for (const Tensor& one : y) {
      upstream.emplace_back();
      if (!is_floating(one.dtype())) continue;
      upstream.back() = reshape(narrow(all, 0, begin, one.numel()), one.shape()).to(one.dtype());
      begin += one.numel();
    }
    const Tensors dx = f->gradient(x, upstream);
    Grads d;
    for (std::size_t k = 0; k < dx.size(); ++k)
      if (dx[k].defined() && needs_grad(k)) d[k] = dx[k];
    return d;
  }

  const Callbacks* f;
  bool lower;
  Tensors x, y;
};

// The derivatives of several outputs are those of one vector. Each is placed in its own output.
void place_in_outputs(GradcheckReport& report, const Callbacks& f,
                      const std::vector<GradcheckInput>& inputs) {
  Tensors x;
  for (const GradcheckInput& input : inputs) x.push_back(input.value);
  const Tensors y = f.value(x);
  if (std::ranges::count_if(y, [](const Tensor& one) { return is_floating(one.dtype()); }) < 2)
    return;
  for (GradcheckEntry& e : report.inputs) {
    if (e.excess < 0 || e.projected || e.output_index.rank() != 1) continue;
    Index offset = e.output_index[0];
    for (std::size_t o = 0; o < y.size(); ++o) {
      if (!is_floating(y[o].dtype())) continue;
      if (offset < y[o].numel()) {
        e.output = o;
        e.output_index = detail::unravel(y[o].shape(), offset);
        break;
      }
      offset -= y[o].numel();
    }
  }
}

}  // namespace

GradcheckReport differences(const Callbacks& f, const std::vector<GradcheckInput>& inputs,
                            const GradcheckOptions& options) {
  GradcheckOptions of_one_op = options;
  of_one_op.may_round = true;
  of_one_op.explain = std::min(options.explain, GradcheckOptions::Explain::Mistake);
  const bool float32 = std::any_of(inputs.begin(), inputs.end(), [](const GradcheckInput& x) {
    return x.value.dtype() == DType::Float32;
  });
  GradcheckReport report = gradcheck(
      [&](const std::vector<Var>& x) {
        return CheckedOutputs(apply(Foreign(f, float32), x, Where::current()));
      },
      inputs, of_one_op);
  if (report.failed()) place_in_outputs(report, f, inputs);
  return report;
}

bool right_along_two(const Callbacks& f, const std::vector<GradcheckInput>& inputs,
                     GradcheckOptions options) {
  options.precise = false;
  return differences(f, inputs, options) && (++options.seed, differences(f, inputs, options));
}

}  // namespace glim::foreign
