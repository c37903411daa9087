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
          std::vector<std::vector<Index>> batches, nb::object rate, std::optional<double> max_norm)
      : optimizer_(std::move(optimizer)), losses_(std::move(losses)), rate_(std::move(rate)) {
    TraceRecipe recipe{
        .losses =
            [this](const std::vector<Index>& rows) {
              return call_back(
                  [&] { return returned("losses", call_python([&] { return losses_(rows); })); });
            },
        .examples = examples,
        .batches = std::move(batches)};
    if (max_norm) recipe.max_norm = *max_norm;
    if (!rate_.is_none())
      recipe.rate = [this](Index update) {
        return call_back([&] {
          const nb::object found = rate_(update);
          double number = 0;
          if (!number_of(found, number))
            throw nb::type_error(("trace: rate(" + std::to_string(update) + ") returned a " +
                                  type_of(found) + ", expected a number")
                                     .c_str());
          return number;
        });
      };
    auto& to_step = nb::cast<Optimizer&>(optimizer_);
    run([&] { trace_ = std::make_unique<TrainingTrace>(to_step, std::move(recipe)); });
  }
  TrainingTrace& trace() { return *trace_; }

  // The result of a function of the user.
  static Var returned(const char* f, const nb::object& result) {
    if (result.is_none())
      throw ValueError("trace", std::string(f) + " returned None. Is a return missing?");
    return var_of(result, f);
  }

  // Python's garbage collector sees what the trace keeps. Losses often reach the trace itself.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    auto* t = nb::inst_ptr<PyTrace>(self);
    for (nb::handle held :
         {nb::handle(t->optimizer_), nb::handle(t->losses_), nb::handle(t->rate_)})
      Py_VISIT(held.ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    if (!nb::inst_ready(self)) return 0;
    auto* t = nb::inst_ptr<PyTrace>(self);
    t->trace_.reset();
    for (nb::object* held : {&t->optimizer_, &t->losses_, &t->rate_}) held->reset();
    return 0;
  }

 private:
  nb::object optimizer_, losses_, rate_;
  std::unique_ptr<TrainingTrace> trace_;
};

TrainingTrace::Query query_of(nb::callable query) {
  return [f = kept(query)] {
    return call_back(
        [&] { return PyTrace::returned("the query", call_python([&] { return (*f)(); })); });
  };
}

nb::object array_of(const std::vector<double>& x) {
  return numpy_of(from_vector(x, {static_cast<Index>(x.size())}));
}

}  // namespace

void bind_trace(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&PyTrace::traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&PyTrace::clear)},
                                {0, nullptr}};
  nb::class_<PyTrace>(m, "_Trace", nb::type_slots(slots))
      .def(nb::init<nb::object, nb::callable, Index, std::vector<std::vector<Index>>, nb::object,
                    std::optional<double>>(),
           "optimizer"_a, "losses"_a, "examples"_a, "batches"_a, "rate"_a.none(),
           "max_norm"_a.none())
      .def("influence",
           [](PyTrace& t, nb::callable query) {
             const TrainingTrace::Query q = query_of(query);
             nb::list all;
             for (const Influence& i : t.run([&] { return t.trace().influence(q); })) {
               nb::list updates;
               for (const std::vector<double>& part : i.by_update) updates.append(array_of(part));
               all.append(nb::make_tuple(array_of(i.examples), updates, array_of(i.rates),
                                         dict_of(i.parameters), array_of(i.norms)));
             }
             return all;
           })
      .def("retrained",
           [](PyTrace& t, const std::vector<double>& weights, nb::callable query) {
             const TrainingTrace::Query q = query_of(query);
             return numpy_of(t.run([&] { return t.trace().retrained(weights, q); }));
           })
      .def("value",
           [](PyTrace& t, nb::callable query) {
             const TrainingTrace::Query q = query_of(query);
             return numpy_of(t.run([&] { return t.trace().value(q); }));
           })
      .def_prop_ro("kept_bytes", [](PyTrace& t) { return t.trace().kept_bytes(); })
#if GLIM_STUDY
      .def("removals",
           [](PyTrace& t, nb::callable query, double share, int times, std::uint64_t seed) {
             const TrainingTrace::Query q = query_of(query);
             Removals r = t.run([&] { return removals(t.trace(), q, share, times, seed); });
             return nb::make_tuple(std::move(r.left_out), std::move(r.measured));
           })
      .def("scores",
           [](PyTrace& t, nb::callable query, const std::string& method) {
             const TrainingTrace::Query q = query_of(query);
             return t.run([&] {
               return method == "TracIn" ? tracin_scores(t.trace(), q) : dot_scores(t.trace(), q);
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
