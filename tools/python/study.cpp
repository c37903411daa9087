// A study of one's own: claim, measurement and criteria of Python, judged and drawn as those of `glim study`.
#include "tools/study/study.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tools/python/arrays.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

using Words = std::vector<std::pair<std::string, std::vector<std::string>>>;
// Values by key, and (plot, curve, x, y) for each curve.
using Measured = std::tuple<
    std::vector<std::pair<std::string, double>>,
    std::vector<std::tuple<std::string, std::string, std::vector<double>, std::vector<double>>>>;

Measurement measurement_of(const Measured& measured) {
  Measurement m;
  for (const auto& [key, value] : std::get<0>(measured)) m.values[key] = value;
  for (const auto& [plot, name, x, y] : std::get<1>(measured))
    for (std::size_t k = 0; k < x.size(); ++k) m.curve(plot, name, x[k], y[k]);
  return m;
}

// The report as text, its JSON, and (name, SVG) of each picture.
nb::tuple judged(const std::string& name, const std::string& claim, const std::string& source,
                 const std::string& setting, const Words& criteria, const Words& plots,
                 nb::callable measure, int seeds, std::uint64_t first_seed) {
  Study study;
  study.name = name, study.claim = claim, study.source = source, study.setting = setting;
  for (const auto& [key, words] : criteria) study.criteria.push_back(criterion_of(key, words));
  for (const auto& [id, words] : plots) study.plots.push_back(plot_of(id, words));
  study.measure = [&](std::uint64_t seed, bool) {
    return measurement_of(nb::cast<Measured>(measure(seed)));
  };
  const StudyResult result = run_study(study, {.first_seed = first_seed, .seeds = seeds});
  nb::list drawn;
  for (const Picture& p : pictures(result)) drawn.append(nb::make_tuple(p.name, p.svg()));
  return nb::make_tuple(to_text(result), to_json(result), drawn);
}

}  // namespace

void bind_study(nb::module_& m) {
  m.def("run_study", &judged, "name"_a, "claim"_a, "source"_a, "setting"_a, "criteria"_a, "plots"_a,
        "measure"_a, "seeds"_a, "first_seed"_a);
}

}  // namespace glim::python
