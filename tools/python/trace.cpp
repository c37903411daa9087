// A training that can be differentiated, whose losses and queries are functions of Python (glim/trace.py).
#include "optim/trace.hpp"

#include <nanobind/stl/optional.h>

#include "tools/python/modules.hpp"
#if GLIM_STUDY
#include "tools/study/removals.hpp"
#endif

namespace glim::python {

using namespace nb::literals;
namespace {

class PyTrace {
 public:
  template <class F>
  auto run(const F& f) {
    UntilCtrlC until;
    Unlocked others;
    return f();
  }
  PyTrace(nb::object optimizer, nb::callable losses, Index examples,
          std::vector<std::vector<Index>> batches, const std::optional<nb::callable>& rate,
          std::optional<double> max_norm) {
    TraceRecipe recipe{.losses =
                           [f = kept(losses)](const std::vector<Index>& rows) {
                             return call_back([&] {
                               return var_of(call_python([&] { return (*f)(rows); }), "losses");
                             });
                           },
                       .examples = examples,
                       .batches = std::move(batches)};
    if (max_norm) recipe.max_norm = *max_norm;
    if (rate)
      recipe.rate = [f = kept(*rate)](Index update) {
        return call_back([&] { return nb::cast<double>((*f)(update)); });
      };
    auto& of = nb::cast<Optimizer&>(optimizer);
    run([&] { trace_ = std::make_unique<TrainingTrace>(of, std::move(recipe)); });
  }
  TrainingTrace& trace() { return *trace_; }

 private:
  std::unique_ptr<TrainingTrace> trace_;
};

TrainingTrace::Query query_of(nb::callable query) {
  return [f = kept(query)] {
    return call_back([&] { return var_of(call_python([&] { return (*f)(); }), "query"); });
  };
}

nb::object array_of(const std::vector<double>& x) {
  return numpy_of(from_vector(x, {static_cast<Index>(x.size())}));
}

}  // namespace

void bind_trace(nb::module_& m) {
  nb::class_<PyTrace>(m, "_Trace")
      .def(nb::init<nb::object, nb::callable, Index, std::vector<std::vector<Index>>,
                    std::optional<nb::callable>, std::optional<double>>(),
           nb::keep_alive<1, 2>(), "optimizer"_a, "losses"_a, "examples"_a, "batches"_a,
           "rate"_a.none(), "max_norm"_a.none())
      .def("influence",
           [](PyTrace& t, nb::callable query) {
             const TrainingTrace::Query of = query_of(query);
             nb::list all;
             for (const Influence& i : t.run([&] { return t.trace().influence(of); })) {
               nb::list updates;
               for (const std::vector<double>& part : i.by_update) updates.append(array_of(part));
               all.append(nb::make_tuple(array_of(i.examples), updates, array_of(i.rates),
                                         dict_of(i.parameters), array_of(i.norms)));
             }
             return all;
           })
      .def("retrained",
           [](PyTrace& t, const std::vector<double>& weights, nb::callable query) {
             const TrainingTrace::Query of = query_of(query);
             return numpy_of(t.run([&] { return t.trace().retrained(weights, of); }));
           })
      .def("value",
           [](PyTrace& t, nb::callable query) {
             const TrainingTrace::Query of = query_of(query);
             return numpy_of(t.run([&] { return t.trace().value(of); }));
           })
      .def_prop_ro("kept_bytes", [](PyTrace& t) { return t.trace().kept_bytes(); })
#if GLIM_STUDY
      .def("removals",
           [](PyTrace& t, nb::callable query, double share, int times, std::uint64_t seed) {
             const TrainingTrace::Query of = query_of(query);
             Removals r = t.run([&] { return removals(t.trace(), of, share, times, seed); });
             return nb::make_tuple(std::move(r.left_out), std::move(r.measured));
           })
      .def("scores",
           [](PyTrace& t, nb::callable query, const std::string& method) {
             const TrainingTrace::Query of = query_of(query);
             return t.run([&] {
               return method == "TracIn" ? tracin_scores(t.trace(), of) : dot_scores(t.trace(), of);
             });
           })
#endif
      ;
#if GLIM_STUDY
  m.def("_bm25", &bm25_scores);
  m.def("_correlations", [](std::vector<std::vector<Index>> left_out,
                            std::vector<std::vector<double>> measured, const Scores& scores) {
    return Removals{std::move(left_out), std::move(measured)}.correlations(scores);
  });
#endif
}

}  // namespace glim::python
