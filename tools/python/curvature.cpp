// Eigenvalues of the Hessian of a loss (glim/curvature.py).
#include "autograd/curvature.hpp"

#include "optim/optimizer.hpp"
#include "tools/python/modules.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

nb::object array_of(const std::vector<double>& x) {
  return numpy_of(from_vector(x, {static_cast<Index>(x.size())}));
}

// P of each leaf, and threshold and rate of the optimizer.
nb::object stability_of(const Optimizer& optimizer, const NamedParameters& leaves,
                        std::vector<Tensor>& p) {
  const NamedParameters known = optimizer.parameters();
  std::vector<std::string> names;
  for (const auto& [name, leaf] : leaves) {
    const auto found = std::ranges::find_if(
        known, [&](const auto& entry) { return same_leaf(entry.second, leaf); });
    if (found == known.end())
      throw ValueError("curvature", "the preconditioner's optimizer does not update " + name);
    names.push_back(found->first);
  }
  const Optimizer::Stability stability = optimizer.stability();
  if (!stability.preconditioner.empty())
    for (const std::string& name : names) {
      const auto found = stability.preconditioner.find(name);
      if (found == stability.preconditioner.end())
        throw ValueError("curvature", "the preconditioner's optimizer does not update " + name);
      p.push_back(found->second);
    }
  return nb::make_tuple(stability.threshold, optimizer.rate());
}

nb::tuple tuple_of(const Ritz& r) {
  return nb::make_tuple(array_of(r.values), array_of(r.residuals));
}

}  // namespace

void bind_curvature(nb::module_& m) {
  m.def(
      "_curvature",
      [](nb::callable loss, nb::handle parameters, Index k, bool blocks, nb::handle optimizer,
         double tolerance, Index steps, Index probes, std::uint64_t seed) {
        const NamedParameters leaves = parameters_of(parameters);
        std::vector<Var> xs;
        std::vector<Tensor> p;
        for (const auto& [name, leaf] : leaves) xs.push_back(leaf);
        Index count = 0;
        for (const Var& x : xs) count += x.numel();
        if (k > count)
          throw ValueError("curvature", "k is " + std::to_string(k) + ", but the parameters have " +
                                            std::to_string(count) + " elements");
        const nb::object stability =
            optimizer.is_none() ? nb::none()
                                : stability_of(nb::cast<const Optimizer&>(optimizer), leaves, p);
        Tape tape;
        const Var value = [&] {
          WithinCall call;
          const nb::object result = call_python([&] { return loss(); });
          if (result.is_none())
            throw ValueError("curvature", "loss() returned None. Is a return missing?");
          return var_of(result, "the loss");
        }();
        auto run = [](const auto& f) {
          UntilCtrlC until;
          Unlocked others;
          return f();
        };
        const Hessian h = run([&] { return Hessian(tape, value, xs, p); });
        nb::list names, of_blocks;
        for (const auto& [name, leaf] : leaves) names.append(name);
        const Ritz all = run([&] {
          return h.lanczos({.largest = k,
                            .lowest = 1,
                            .tolerance = tolerance,
                            .steps = steps,
                            .start = {seed, 0}});
        });
        for (std::size_t b = 0; blocks && b < xs.size(); ++b)
          of_blocks.append(tuple_of(run([&] {
            return h.lanczos({.tolerance = tolerance, .steps = steps, .start = {seed, 0}}, b);
          })));
        nb::object density = nb::none();
        if (probes > 0) {
          std::vector<Ritz> starts(static_cast<std::size_t>(probes));
          run([&] {
            for (std::size_t i = 0; i < starts.size(); ++i)
              starts[i] = h.lanczos({.tolerance = 0, .steps = 30, .start = {seed + 1 + i, 0}});
          });
          const Density d = density_of(starts);
          density = nb::make_tuple(array_of(d.points), array_of(d.density), array_of(d.error),
                                   d.distance);
        }
        return nb::make_tuple(tuple_of(all), names, of_blocks, density, stability, h.kinks(),
                              h.float32(), h.size());
      },
      "loss"_a, "parameters"_a, "k"_a, "blocks"_a, "optimizer"_a.none(), "tolerance"_a, "steps"_a,
      "probes"_a, "seed"_a);
}

}  // namespace glim::python
