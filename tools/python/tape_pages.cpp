// Pages of a tape, and of the pass that it recorded: as text, as a graph, written out, and those of `glim inspect`.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <sstream>

#include "tensor/io/atomic_file.hpp"
#include "tensor/io/safetensors.hpp"
#include "tools/derive/derive.hpp"
#include "tools/derive/program.hpp"
#include "tools/derive/second_order.hpp"
#include "tools/derive/trace.hpp"
#include "tools/python/tape.hpp"
#if GLIM_PAGES
#include "tools/common/escape.hpp"
#include "tools/inspect/debugger/debugger.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/measure/score_sources.hpp"
#include "tools/python/keywords.hpp"
#endif

namespace glim::python {

using namespace nb::literals;

#if GLIM_PAGES
void PyTape::change(const Changes& changes) {
  if (!tape().nodes().empty()) throw StateError("tape", "changes are set before the first op");
  static_cast<void>(gradient_changes(changes));
  state().changed.emplace(changes);
  state().changes = changes;
  state().inspected = false;
}
const Changes& PyTape::inspected_changes() {
  state().inspected = true;
  require_changes_used();
  return state().changes;
}
void PyTape::require_changes_used() const {
  if (!state().changed) return;
  state().changed->require_used();
  if (!state().inspected && state().changes.backward())
    throw ValueError("tape.change",
                     "zero, freeze and scale_gradient change the gradients that tape.inspect "
                     "shows, and it was not called: tape.hook changes those of backward, and "
                     "`set` those of tape.step");
}

namespace {

using Tokens = std::pair<std::vector<std::string>, std::vector<std::string>>;

std::vector<std::string> modules_of(const Tape& tape) {
  std::vector<std::string> scopes;
  for (const Node& n : tape.nodes())
    if (n.scope) scopes.push_back(*n.scope);
  return scopes;
}

// f() without Python's lock.
template <class F>
auto unlocked(const F& f) {
  UntilCtrlC until;
  Unlocked others;
  return f();
}

// The class behind glim/inspection.py: a pass that has ended, with its findings.
void bind_inspected(nb::class_<PyTape>& tape) {
  nb::class_<Inspection>(tape, "_Inspected", "A pass that was recorded, with its findings.")
      .def(
          "write",
          [](const Inspection& i, const std::filesystem::path& folder, bool data) {
            unlocked([&] { write_inspection(i, folder, data); });
          },
          "folder"_a, "data"_a, "Writes the page, and with data its JSON and tensors.")
      .def(
          "svg",
          [](const Inspection& i, const std::string& pattern) {
            return unlocked([&] {
              const std::vector<Picture> all = pictures(i);
              std::vector<std::string> svgs;
              for (const PictureFile& p : pictures_asked_for("svg", all, {pattern}, ""))
                svgs.push_back(p.picture->svg());
              return svgs;
            });
          },
          "pattern"_a, "The pictures of this name or pattern.")
      .def(
          "why",
          [](const Inspection& i, const std::string& head, Index query, Index key) {
            return unlocked([&] {
              const ScoreParts parts = score_parts(i.pass, head, query, key);
              return std::pair(in_json(in_json(parts)), score_text(parts));
            });
          },
          "head"_a, "query"_a, "key"_a, "A score by its sources: JSON, and a table.")
      .def(
          "why_part",
          [](const Inspection& i, const std::string& head, Index query, Index key,
             const std::string& query_source, const std::string& key_source) {
            return unlocked([&] {
              const SplitPart part = split_part(i.pass, head, query, key, query_source, key_source);
              return std::pair(in_json(in_json(part)), split_text(part));
            });
          },
          "head"_a, "query"_a, "key"_a, "query_source"_a, "key_source"_a,
          "One part of a score, split again: JSON, and a table.")
      .def(
          "patch",
          [](const Inspection& i, const Inspection& other, const std::vector<std::string>& nodes) {
            return unlocked([&] {
              const PatchTable table = patched_from(i.pass, other.pass, nodes);
              return std::pair(in_json(in_json(table)), patch_text(table));
            });
          },
          "other"_a, "nodes"_a, "The loss with values of the other pass: JSON, and a table.");
}

void bind_pass(nb::class_<PyTape>& tape) {
  bind_inspected(tape);
  tape.def(
      "inspect",
      [](PyTape& t, const Arg& y, const std::optional<std::filesystem::path>& folder, const Arg& dy,
         const Module* model, const Tokens& tokens, const std::string& title, bool data,
         bool overwrite) -> nb::object {
        std::error_code unknown;
        for (const char* name : {"inspect.html", "inspect.json", "inspect.safetensors"})
          if (folder && !overwrite && std::filesystem::exists(*folder / name, unknown))
            throw FileError((*folder / name).string(),
                            "exists already: overwrite=True replaces it");
        Inspection inspection;
        const Tensor up = dy.constant("dy");
        const Var& y_var = y("y");
        t.run([&](Tape& open) {
          Pass pass(open, y_var, up, model ? Roles(*model) : Roles(modules_of(open)));
          run_changed(pass, t.inspected_changes());
          ExampleText text;
          text.title = title;
          text.source = tokens.first, text.target_in = tokens.second;
          inspection = inspect(std::move(pass), std::move(text));
          inspection.pass.end();
          if (folder) write_inspection(inspection, *folder, data);
        });
        if (folder) return nb::cast((*folder / "inspect.html").string());
        return nb::module_::import_("glim.inspection")
            .attr("Inspection")(nb::cast(std::move(inspection)));
      },
      "y"_a, "folder"_a = nb::none(), "dy"_a.none() = nb::none(), nb::kw_only(),
      "model"_a.none() = nb::none(), "tokens"_a = Tokens(), "title"_a = "a pass recorded in Python",
      "data"_a = true, "overwrite"_a = false,
      "Writes the page, the data and the tensors of `glim inspect` for the pass to y into a "
      "folder. Returns the page's path, or without a folder an Inspection that shows itself in a "
      "notebook. The tape needs replay=True.\n\n"
      "model: the module that the pass ran, whose layers the page then knows. tokens: (source, "
      "target), two lists of words for the positions, the same one twice for one stack. "
      "data=False: the page alone.");
  tape.def(
      "change",
      [](PyTape& t, nb::kwargs keywords) {
        t.change(from_keywords_of<Changes>("tape.change", keywords,
                                           {"label_smoothing", "dropout", "remove"}));
      },
      "Changes the pass, as the options of `glim inspect` of these names do, before the first "
      "op: remove_head, mask, unmask and scale the forward, zero, freeze and scale_gradient the "
      "gradients that inspect shows.\n\n"
      "ValueError for a text of another form; at the end of the tape for a change that nothing "
      "used.");
  tape.def(
      "step",
      [](PyTape& t, const Arg& y, const std::string& commands, const Arg& dy) {
        const Tensor up = dy.constant("dy");
        const Var& y_var = y("y");
        return t.run([&](Tape& open) {
          Pass pass(open, y_var, up);
          std::string output;
          step::Debugger debugger(pass, [&](const std::string& text) { output += text; });
          debugger.show_place();
          std::istringstream lines(commands);
          for (std::string line; std::getline(lines, line) && debugger.run(line);) {
          }
          return output;
        });
      },
      "y"_a, "commands"_a, "dy"_a.none() = nb::none(),
      "The output of the backward pass's debugger (`glim step`) for these commands, one a line. "
      "The tape needs replay=True.");
}

}  // namespace
#endif

void bind_pages(nb::class_<PyTape>& py_tape) {
  py_tape
      .def(
          "table", [](PyTape& t) { return to_table(t.tape(), t.times(), t.watched()); },
          "The tape as text, one line a node.")
      .def(
          "derive",
          [](PyTape& t, const std::string& module, const std::string& level,
             const std::string& format) {
            std::ostringstream out;
            t.run([&](Tape& tape) { print_backward(tape, out, {module, level, format}); });
            return out.str();
          },
          "module"_a = "", nb::kw_only(), "level"_a = "rules", "format"_a = "text",
          "The pass written out: each line of forward, and beside it the lines of backward that "
          "it gives rise to. The last value on the tape is the loss; the tape needs "
          "replay=True.\n\n"
          "module: a part of the model, 'decoder.layers.0'. level: 'rules', each op's "
          "equation; 'primitives', lines as backward records them (they join the tape); 'paper', "
          "the parts of a Transformer, head by head. format: 'text', 'markdown', 'latex', 'align' "
          "(its equations alone), 'html'.")
      .def(
          "_along",
          [](PyTape& t, const Var& y, const Var& dy, const std::vector<Var>& xs,
             const std::vector<Var>& vs) {
            return t.run([&](Tape&) { return derive::along_directions(y, dy, xs, vs); });
          },
          "y"_a, "dy"_a, "xs"_a, "vs"_a,
          "The derivative of Σ y ⊙ dy along directions of leaves (tools/derive/second_order.hpp).")
      .def(
          "_along_leaves",
          [](PyTape& t, const Var& loss) {
            derive::ConstantNames names;
            return t.run([&](Tape&) { return derive::along_directions(loss, names); });
          },
          "loss"_a, "The same along a random direction of every leaf.")
      .def(
          "_write_program",
          [](PyTape& t, const Var& loss, int order, const std::string& title,
             const std::string& command, const std::string& code, const std::string& data) {
            t.run([&](Tape& tape) {
              derive::ConstantNames names;
              Pass pass(tape, order == 2 ? derive::along_directions(loss, names) : loss);
              while (pass.current() >= 0) pass.step();
              StateDict gradients;
              for (const PassNode& n : pass.nodes())
                if (n.is_leaf() && n.gradient.defined()) gradients[n.path] = n.gradient;
              const derive::Listing listing(derive::trace_of(pass, names.names));
              const std::string file = data.substr(data.find_last_of("/\\") + 1);
              write_file_atomically(code,
                                    derive::numpy_program(listing, {}, {title, command, file}));
              write_safetensors(data, derive::data_of(listing.trace(), gradients));
            });
          },
          "loss"_a, "order"_a, "title"_a, "command"_a, "code"_a, "data"_a,
          "The pass to a loss, or its second order, as a program in NumPy and its data.")
      .def(
          "program",
          [](PyTape& t, const Arg& y, const Arg& dy) {
            const Var& y_var = y("y");
            const Tensor up = dy.constant("dy");
            StateDict constants;
            const auto text = t.run([&](Tape& tape) {
              derive::Trace trace = derive::trace_of(Pass(tape, y_var, up));
              int count = 0;
              for (derive::Value& v : trace.values)
                if (v.op == "constant") v.path = "constant_" + std::to_string(++count);
              constants = derive::constants_of(trace);
              return derive::function_text(derive::Listing(std::move(trace)), {}, derive::kNumpy);
            });
            nb::dict arrays;
            for (const auto& [name, x] : constants) arrays[name.c_str()] = numpy_of(x, false);
            return nb::make_tuple(text.forward, text.again, text.backward, text.helpers, arrays);
          },
          "y"_a, "dy"_a,
          "The pass to y in lines of NumPy, of functions of its leaves: (forward, what backward "
          "needs of it, backward, functions that they call, constants). The tape needs "
          "replay=True.")
      .def(
          "dot", [](PyTape& t) { return to_dot(t.tape()); },
          "The tape as a graph in Graphviz's language.");
#if GLIM_PAGES
  bind_pass(py_tape);
#endif
}

}  // namespace glim::python
