#include "tools/python/tape.hpp"

#include <cmath>
#include <nanobind/stl/optional.h>

#include "autograd/observe/walk.hpp"
#include "autograd/op_form.hpp"
#include "autograd/products.hpp"
#include "autograd/scope.hpp"
#include "optim/clip.hpp"
#include "tools/common/nearest.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

const std::set<std::string> kWithinExplicit{"scores", "biased_scores", "probs", "keep", "context"};

thread_local int calls = 0;  // of functions of Python, one within the other

}  // namespace

PyTape::~PyTape() {
  if (tape_ && (std::this_thread::get_id() != thread_ || calls != calls_)) {
    (void)state_.release();
    (void)tape_.release();
  }
  std::erase(open_, this);
}
void PyTape::end_those_of_call() {
  for (std::size_t k = open_.size(); k-- > 0;)
    if (open_[k]->thread_ == std::this_thread::get_id() && open_[k]->calls_ == calls) {
      open_[k]->end();
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(k));
    }
}
void PyTape::enter() {
  if (tape_) throw StateError("tape", "is open already");
  tape_ = std::make_unique<Tape>(TapeOptions{.replay = options_.replay});
  state_ = std::make_unique<State>();
  if (options_.profile) state_->times.emplace(*tape_);
  if (options_.check_finite) state_->finite.emplace(*tape_);
  ++entered_;
  thread_ = std::this_thread::get_id();
  calls_ = calls;
  open_.push_back(this);
}
void PyTape::exit(bool failed) {
  static_cast<void>(tape());
  if (running_) throw StateError("tape", "ends within its own backward");
  if (calls != calls_)
    throw StateError("tape", "ends within a forward, a hook or a region that began after it");
  struct End {
    PyTape& tape;
    ~End() {
      std::erase(open_, &tape);
      tape.end();
    }
  } end{*this};
#if GLIM_PAGES
  if (!failed) require_changes_used();
#endif
}
void PyTape::require_matches() const {
  const Tape& on = tape();
  for (const Awaited& a : state().awaited) {
    std::set<std::string> names;
    bool found = false;
    for (std::size_t k = 0; k < on.nodes().size() && !found; ++k) {
      const std::string path = on.path(static_cast<int>(k));
      found = glob_match(a.pattern, path);
      names.insert(path.substr(path.rfind('.') + 1));
    }
    if (found) continue;
    std::string bare = a.pattern.substr(a.pattern.rfind('.') + 1);
    std::erase(bare, '*');
    throw ValueError(
        a.op,
        "no node matches '" + a.pattern + "'" + nearest_names(bare, {names.begin(), names.end()}) +
            "; tape.table() shows all paths, and * stands for any part of one" +
            (kWithinExplicit.contains(bare) ? ". Attention has it within `with glim.explicit():`"
                                            : ""));
  }
  state().awaited.clear();
}

namespace {

struct PyNode {
  int number;
  std::string path, name, dtype, line;
  nb::object shape;
  std::vector<int> inputs;
};

PyNode node_of(const Tape& tape, int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= tape.nodes().size())
    throw IndexError("tape", "node " + std::to_string(number) + " is not among its " +
                                 std::to_string(tape.nodes().size()));
  const Node& n = tape.nodes()[static_cast<std::size_t>(number)];
  return {number,
          tape.path(number),
          std::string(n.name()),
          std::string(name_of(n.dtype)),
          n.where.line() ? to_string(n.where) : "",
          tuple_of(n.shape),
          {n.inputs.begin(), n.inputs.end()}};
}

// A Var, or a list of them.
struct Outputs {
  explicit Outputs(nb::handle result)
      : is_list(nb::isinstance<nb::list>(result) || nb::isinstance<nb::tuple>(result)) {
    if (!is_list) list.push_back(nb::cast<Arg>(result));
    if (is_list) list = nb::cast<std::vector<Arg>>(result);
  }
  // Numbers and arrays get the dtype of `outputs`; None for all is None for each.
  std::vector<Var> vars(const char* name, const Outputs* outputs = nullptr) const {
    std::vector<Var> all;
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (outputs && k < outputs->list.size())
        convert_numbers({{outputs->list[k], "y"}, {list[k], name}});
      all.push_back(list[k](name));
    }
    if (outputs && !is_list && !all[0].defined()) all.resize(outputs->list.size());
    return all;
  }
  bool is_list;
  std::vector<Arg> list;
};

using Inputs = nb::typed<nb::sequence, Var>;

// TypeError for an array or a number, which is a constant: its gradient would be zeros.
std::vector<Var> inputs_of(const Inputs& xs) {
  require_list(xs, "xs");
  std::vector<Var> all;
  for (nb::handle x : xs) {
    if (!nb::isinstance<Var>(x))
      throw nb::type_error(
          "xs has something that is no Var: give the Vars that y was computed from");
    all.push_back(nb::cast<const Var&>(x));
  }
  return all;
}

// Directions with the dtypes of what they are directions of.
std::vector<Var> along(const std::vector<Var>& xs, const std::vector<Arg>& vs) {
  for (std::size_t k = 0; k < std::min(xs.size(), vs.size()); ++k)
    vs[k].convert_values(xs[k].dtype(), "vs");
  return vars_of(vs);
}

Hook::Function hook_of(nb::callable f) {
  return [f = kept(f)](const Var& g) {
    return call_back([&] {
      nb::object result = call_python([&] { return (*f)(g); });
      return result.is_none() ? Var() : var_of(result, "the hook's result", g.dtype());
    });
  };
}

class PyWalk {
 public:
  PyWalk(PyTape& tape, const Var& y, const Tensor& dy, bool retain)
      : tape_(tape),
        entered_(tape.entered()),
        walk_(dy.defined() ? BackwardWalk(tape.tape(), y, dy, {.retain = retain})
                           : BackwardWalk(tape.tape(), y, {.retain = retain})) {}
  BackwardWalk& walk() {
    if (tape_.entered() != entered_) throw StateError("walk", "its tape has ended");
    return walk_;
  }
  nb::tuple step() {
    WalkStep s = tape_.run([&](Tape&) { return walk().step(); });
    nb::list flows;
    for (const Flow& f : s.flows) flows.append(nb::make_tuple(f.node, array_or_none(f.gradient)));
    return nb::make_tuple(node_of(tape_.tape(), s.node), array_or_none(s.dy), flows);
  }

 private:
  PyTape& tape_;
  int entered_;
  BackwardWalk walk_;
};

struct PyNoGrad {
  std::unique_ptr<NoGrad> on;
};

struct PyScope {
  std::string name, file;
  int line;
  std::unique_ptr<NamedPart> on;
};

struct PyExplicit {
  std::unique_ptr<UseForm> on;
};

}  // namespace

WithinCall::WithinCall() { ++calls; }
WithinCall::~WithinCall() {
  PyTape::end_those_of_call();
  --calls;
}

void bind_tape(nb::module_& m) {
  nb::class_<PyNode>(m, "Node", "An op or a leaf on a tape.")
      .def_ro("number", &PyNode::number)
      .def_ro("path", &PyNode::path, "Its module's path and its name.")
      .def_ro("name", &PyNode::name, "The op, or 'leaf'.")
      .def_ro("shape", &PyNode::shape)
      .def_ro("dtype", &PyNode::dtype)
      .def_ro("line", &PyNode::line, "The line that called the op, 'FILE:LINE'.")
      .def_ro("inputs", &PyNode::inputs, "Numbers of the nodes that it reads, -1 for a constant.")
      .def("__repr__", [](const PyNode& n) {
        return "<" + std::to_string(n.number) + " " + n.path + " " +
               nb::cast<std::string>(nb::str(n.shape)) + ">";
      });
  nb::class_<PyWalk>(m, "Walk",
                     "One backward pass, node by node: for node, dy, flows in tape.walk(loss).")
      .def_prop_ro(
          "next", [](PyWalk& w) { return w.walk().next(); },
          "The number of the next node, -1 at the end.")
      .def(
          "gradient", [](PyWalk& w, int node) { return array_or_none(w.walk().gradient(node)); },
          "node"_a, "The gradient that has arrived so far at a node whose turn is to come.")
      .def(
          "set_gradient",
          [](PyWalk& w, int node, const Arg& g) { w.walk().set_gradient(node, g.constant("g")); },
          "node"_a, "g"_a, "Replaces the gradient of a node whose turn is to come.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", [](PyWalk& w) {
        if (w.walk().next() < 0) throw nb::stop_iteration();
        return w.step();
      });
  nb::class_<PyTape> py_tape(
      m, "Tape",
      "Records the ops within its `with`, and differentiates along them.\n\n"
      "    with glim.Tape() as tape:\n"
      "        loss = ...\n"
      "        tape.backward(loss)      # fills .grad of the leaves\n\n"
      "profile: measure times. check_finite: NonFiniteError at the first value or gradient that "
      "is not finite. replay: keep every value until the tape ends, as derive, inspect and step "
      "need.");
  py_tape
      .def(
          "__init__",
          [](PyTape* self, bool profile, bool check_finite, bool replay) {
            new (self) PyTape({.profile = profile, .check_finite = check_finite, .replay = replay});
          },
          nb::kw_only(), "profile"_a = false, "check_finite"_a = false, "replay"_a = false)
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PyTape&>(self).enter();
             return nb::borrow(self);
           })
      .def("__exit__", [](PyTape& t, nb::args raised) { t.exit(!raised[0].is_none()); })
      .def(
          "backward",
          [](PyTape& t, const Arg& y, const Arg& dy, bool retain, bool create_graph) {
            convert_numbers({{y, "y"}, {dy, "dy"}});
            const Tensor up = dy.constant("dy");
            const Var& y_var = y("y");
            t.require_matches();
            t.run([&](Tape& tape) {
              const Backward options{.retain = retain, .create_graph = create_graph};
              up.defined() ? tape.backward(y_var, up, options) : tape.backward(y_var, options);
            });
          },
          "y"_a, "dy"_a.none() = nb::none(), nb::kw_only(), "retain"_a = false,
          "create_graph"_a = false,
          "Adds ∂(Σ y·dy)/∂leaf to every leaf's grad; without dy, y is a loss of one "
          "element.\n\n"
          "ShapeError unless y has one element or dy its shape; StateError when y depends on no "
          "leaf of this tape.")
      .def(
          "grad",
          [](PyTape& t, nb::object y, const Inputs& xs, nb::object dy, bool retain,
             bool create_graph) {
            const Outputs ys(y), ups(dy);
            std::vector<Var> dys = ups.vars("dy", &ys);
            const std::vector<Var> inputs = inputs_of(xs), outputs = ys.vars("y");
            t.require_matches();
            return t.run([&](Tape& tape) {
              return tape.grad(outputs, inputs, dys,
                               {.retain = retain, .create_graph = create_graph});
            });
          },
          "y"_a, "xs"_a, "dy"_a.none() = nb::none(), nb::kw_only(), "retain"_a = false,
          "create_graph"_a = false,
          "∂(Σ y·dy)/∂x for each x of a list, leaving leaves alone. y and dy may be lists: of "
          "several outputs at once. With create_graph the results are on the tape, and "
          "differentiable in dy too.")
      .def(
          "jvp",
          [](PyTape& t, nb::object y, const Inputs& xs, const std::vector<Arg>& vs,
             bool create_graph) {
            const Outputs ys(y);
            const std::vector<Var> outputs = ys.vars("y"), inputs = inputs_of(xs),
                                   directions = along(inputs, vs);
            const std::vector<Var> jv = t.run(
                [&](Tape& tape) { return jvp(tape, outputs, inputs, directions, create_graph); });
            return ys.is_list ? nb::cast(jv) : nb::cast(jv[0]);
          },
          "y"_a, "xs"_a, "vs"_a, nb::kw_only(), "create_graph"_a = false,
          "Σ_k (∂y/∂x_k) v_k of y, or of each y of a list: two backward passes, which stay on "
          "the tape.")
      .def(
          "hvp",
          [](PyTape& t, const Arg& loss, const Inputs& xs, const std::vector<Arg>& vs,
             bool create_graph) {
            const Var& loss_var = loss("loss");
            const std::vector<Var> inputs = inputs_of(xs), directions = along(inputs, vs);
            return t.run(
                [&](Tape& tape) { return hvp(tape, loss_var, inputs, directions, create_graph); });
          },
          "loss"_a, "xs"_a, "vs"_a, nb::kw_only(), "create_graph"_a = false,
          "Σ_k (∂²loss/∂x ∂x_k) v_k for each x of a list, the Hessian times v.")
      .def(
          "grad_each",
          [](PyTape& t, const Arg& losses, const Inputs& xs) {
            const Var& loss_vars = losses("losses");
            const std::vector<Var> inputs = inputs_of(xs);
            std::vector<std::vector<Var>> rows(inputs.size());
            t.run([&](Tape& tape) {
              each_gradient(tape, loss_vars, inputs, [&](Index, const std::vector<Var>& g) {
                for (std::size_t k = 0; k < g.size(); ++k) rows[k].push_back(g[k].detach());
              });
            });
            nb::list all;
            for (const std::vector<Var>& each : rows) all.append(numpy_of(stack(each, 0).value()));
            return all;
          },
          "losses"_a, "xs"_a,
          "The gradients of each element of the losses (n,): for each x an array (n, ...), one "
          "backward pass an element.")
      .def(
          "grad_norms",
          [](PyTape& t, const Arg& losses, const Inputs& xs) {
            const Var& loss_vars = losses("losses");
            const std::vector<Var> inputs = inputs_of(xs);
            std::vector<double> norms;
            t.run([&](Tape& tape) {
              each_gradient(tape, loss_vars, inputs, [&](Index, const std::vector<Var>& g) {
                double total = 0;
                for (const Var& d : g) total += sum_of_squares(d.value());
                norms.push_back(std::sqrt(total));
              });
            });
            return numpy_of(from_vector(norms, {static_cast<Index>(norms.size())}));
          },
          "losses"_a, "xs"_a,
          "√(Σ over all x of ‖∂loss_i/∂x‖²) of each element of the losses: the norms of "
          "grad_each, of which one at a time is kept.")
      .def(
          "watch",
          [](PyTape& t, const std::string& pattern) {
            t.watch().add(pattern);
            t.await("watch", pattern);
          },
          "pattern"_a,
          "Keeps value and gradient of every node recorded from now on whose path matches (* and "
          "?). Backward raises a ValueError if none does.")
      .def(
          "watch", [](PyTape& t, const Arg& v) { t.watch().add(v("v")); }, "v"_a)
      .def_prop_ro(
          "watched",
          [](PyTape& t) {
            nb::dict all;
            if (!t.watched()) return all;
            for (const Watched& w : t.watched()->values())
              all[w.path.c_str()] = nb::make_tuple(w.value, array_or_none(w.grad));
            return all;
          },
          "A dict from the path of each watched node to (value, gradient).")
      .def(
          "grad_of",
          [](PyTape& t, const Arg& v) {
            return array_or_none(t.watched() ? t.watched()->grad_of(v("v")) : Tensor());
          },
          "v"_a, "The watched gradient of v, or None.")
      .def(
          "hook",
          [](PyTape& t, const std::string& pattern, nb::callable f) {
            const int id = t.hook(pattern, hook_of(f));
            t.await("hook", pattern, id);
            return id;
          },
          "pattern"_a, "f"_a,
          "Calls f with the complete gradient of every node whose path matches. f returns a "
          "replacement or None. Returns a number for remove_hook.")
      .def(
          "hook",
          [](PyTape& t, const Arg& v, nb::callable f) { return t.hook(v("v"), hook_of(f)); }, "v"_a,
          "f"_a)
      .def(
          "remove_hook", [](PyTape& t, int id) { t.remove_hook(id); }, "id"_a)
      .def(
          "walk",
          [](PyTape& t, const Arg& y, const Arg& dy, bool retain) {
            t.require_matches();
            return new PyWalk(t, y("y"), dy.constant("dy"), retain);
          },
          "y"_a, "dy"_a.none() = nb::none(), nb::kw_only(), "retain"_a = false,
          nb::keep_alive<0, 1>(), "One backward pass, node by node.")
      .def("__len__", [](PyTape& t) { return t.tape().nodes().size(); })
      .def(
          "node", [](PyTape& t, int number) { return node_of(t.tape(), number); }, "number"_a)
      .def(
          "node_of", [](PyTape& t, const Arg& v) { return t.tape().node_of(v("v")); }, "v"_a,
          "Its number, -1 for a constant.")
      .def(
          "value",
          [](PyTape& t, int number) {
            return t.tape().value(node_of(t.tape(), number).number).value();
          },
          "number"_a, "The value of a node; the tape needs replay=True.")
      .def(
          "operands",
          [](PyTape& t, int number) {
            nb::list all;
            for (const Var& v : t.tape().replay(node_of(t.tape(), number).number).operands)
              all.append(array_or_none(v.defined() ? v.value() : Tensor()));
            return all;
          },
          "number"_a, "What the op of a node read, constants among it; the tape needs replay=True.")
      .def_prop_ro(
          "nodes",
          [](PyTape& t) {
            std::vector<PyNode> all;
            for (std::size_t k = 0; k < t.tape().nodes().size(); ++k)
              all.push_back(node_of(t.tape(), static_cast<int>(k)));
            return all;
          },
          "All nodes, in the order of their creation.");
  bind_pages(py_tape);
  nb::class_<PyScope>(m, "scope",
                      "Within its `with`, nodes are recorded in the module of this name: a part "
                      "of a function. line: (file, number) of the calls, in place of Python's "
                      "own.")
      .def(
          "__init__",
          [](PyScope* self, const std::string& name,
             const std::optional<std::pair<std::string, int>>& line) {
            new (self) PyScope{name, line ? line->first : "", line ? line->second : 0, nullptr};
          },
          "name"_a, "line"_a.none() = nb::none())
      .def("__enter__",
           [](PyScope& s) { s.on = std::make_unique<NamedPart>(s.name, s.file, s.line); })
      .def("__exit__", [](PyScope& s, nb::args) { s.on.reset(); });
  nb::class_<PyExplicit>(m, "explicit",
                         "Within its `with`, attention, norms and losses are recorded as their "
                         "primitives: what a page of tape.inspect shows.")
      .def(nb::init<>())
      .def("__enter__", [](PyExplicit& e) { e.on = std::make_unique<UseForm>(OpForm::Explicit); })
      .def("__exit__", [](PyExplicit& e, nb::args) { e.on.reset(); });
  nb::class_<PyNoGrad>(m, "no_grad", "Stops the open tape from recording within its `with`.")
      .def(nb::init<>())
      .def("__enter__", [](PyNoGrad& n) { n.on = std::make_unique<NoGrad>(); })
      .def("__exit__", [](PyNoGrad& n, nb::args) { n.on.reset(); });
}

}  // namespace glim::python
