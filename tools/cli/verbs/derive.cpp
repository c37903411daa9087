// glim derive: the forward and the backward pass of a model written out, as a page or as a program.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "autograd/ops.hpp"
#include "autograd/scope.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/safetensors.hpp"
#include "tools/cli/example_options.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/derive/paper.hpp"
#include "tools/derive/second_order.hpp"
#include "tools/inspect/lettered.hpp"

namespace glim {
namespace {

struct DeriveArguments {
  ExampleOptions example;
  std::string module, format = "text", level = "rules", out;
  Index order = 1;
  bool overwrite = false;
};

// The command as it was typed, without --out.
std::string command_of(const Command& command) {
  std::string text = "glim derive";
  for (const Option& o : command.options) {
    if (!o.is_set || o.name == "out" || o.name == "overwrite") continue;
    for (const std::string& value : o.typed)
      text += " " + (o.is_flag() ? "--" + o.name : typed_option(o.name, value));
  }
  return text;
}

// One module of a pass that is over, as a pass of its own to Σ y ⊙ dy: y are its outputs, dy their gradients in the
// whole pass. Its inputs and parameters are leaves.
Pass pass_of_module(const Pass& whole, const std::string& module, Index order,
                    derive::ConstantNames& names) {
  std::map<int, Var> var;
  auto inside = [&](int node) {
    return node >= 0 && !whole[node].is_leaf() && whole[node].path.starts_with(module + ".");
  };
  return Pass([&] {
    Tape::current()->observe(names);
    Var loss;
    for (const PassNode& n : whole.nodes()) {
      if (!inside(n.number)) continue;
      std::vector<Var> x;
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const int input = n.inputs[k];
        if (input >= 0 && !var.contains(input))
          var[input] = Var::leaf(whole[input].value, whole[input].name);
        x.push_back(input >= 0 ? var[input] : n.operands[k].defined() ? Var(n.operands[k]) : Var());
      }
      Scope scope(Scope::Path{n.scope.substr(std::min(n.scope.size(), module.size() + 1))});
      var[n.number] = named(n.run(x), n.label);
    }
    for (const auto& [node, y] : var) {
      const auto& readers = whole[node].readers;
      if (!inside(node) ||
          std::ranges::all_of(readers, [&](const Reader& r) { return inside(r.node); }))
        continue;
      const Tensor dy = whole.gradient(node);
      names.names.emplace_back(dy, "dy");
      const Var part = sum(y * Var(dy));
      loss = loss.defined() ? loss + part : part;
    }
    return order == 2 ? derive::along_directions(loss, names) : loss;
  });
}

struct Written {
  derive::Trace trace;
  StateDict gradients;  // of the leaves, by an ordinary backward
  double loss;
};

// A pass, or one module of it, with its backward.
Written written(Pass& whole, const std::string& name, Index order, derive::ConstantNames& names) {
  auto take = [](Pass& pass) {
    while (pass.current() >= 0) pass.step();
  };
  take(whole);
  Pass part;
  Pass* pass = &whole;
  if (!name.empty()) {
    const std::string module = derive::module_named(derive::forward_of(whole), name);
    whole.end();
    part = pass_of_module(whole, module, order, names);
    take(part);
    pass = &part;
  }
  Written w{{}, {}, pass->loss_value()};
  for (const PassNode& n : pass->nodes())
    if (n.is_leaf() && n.gradient.defined()) w.gradients[n.path] = n.gradient;
  w.trace = derive::trace_of(*pass, names.names);
  pass->end();
  return w;
}

// The shapes that a trace has in the sizes of another one, value by value; none if their ops differ. Texts of one length
// share masks and positions, so that constants are left out.
std::vector<Shape> shapes_like(const derive::Trace& trace, const derive::Trace& other) {
  auto computed = [](const derive::Value& v) {
    return v.op != "leaf" && v.op != "constant" && v.op != "number";
  };
  std::vector<Shape> shapes;
  auto its = other.values.begin();
  for (const derive::Value& v : trace.values) {
    shapes.push_back(v.shape());
    if (!computed(v)) continue;
    its = std::find_if(its, other.values.end(), computed);
    if (its == other.values.end() || its->op != v.op) return {};
    shapes.back() = its++->shape();
  }
  return shapes;
}

void write_program(const Command& command, const DeriveArguments& a, Example& example, Pass& pass,
                   derive::ConstantNames& names, const RecordedLoss& record) {
  namespace fs = std::filesystem;
  const bool cpp = a.format == "cpp";
  const fs::path folder = a.out.empty() ? "derive" : a.out;
  const std::string code = (folder / (cpp ? "backward.cpp" : "backward.py")).string(),
                    data = (folder / "backward.safetensors").string();
  for (const std::string& path : {code, data}) refuse_existing(path, a.overwrite);
  Written result = written(pass, a.module, a.order, names);
  const auto lettered = lettered_pass(a.example, example, pass, record);
  derive::Letters& letters = lettered->letters;
  const derive::Listing like(written(lettered->pass, a.module, a.order, lettered->names).trace),
      listing(std::move(result.trace));
  letters.shapes = shapes_like(listing.trace(), like.trace());
  if (letters.shapes.empty()) letters.names.clear();
  make_folder(folder.string());
  if (cpp)
    for (const auto& [name, leaf] : listing.trace().parameters)
      if (const int g = listing.trace().gradient(leaf); g >= 0)
        result.gradients[name] = listing.trace()[g].value;
  std::string title = example.heading();
  if (!a.module.empty()) title += fmt::format(", {} with the loss Σ y ⊙ dy", a.module);
  write_file_atomically(
      code, (cpp ? derive::cpp_program : derive::numpy_program)(
                listing, letters, {title, command_of(command), "backward.safetensors"}));
  write_safetensors(data, derive::data_of(listing.trace(), result.gradients));
  say(fmt::format("loss {:.15g}", result.loss));
  say(code);
  say(data);
}

void write_sheet(const Command& command, const DeriveArguments& a, const Example& example,
                 derive::Sheet sheet) {
  if (example.changes().any())
    sheet.notes.push_back("This pass was changed: " + command_of(command) + ".");
  const std::string text = derive::written_as(sheet, a.format);
  if (a.out.empty()) return print(text);
  refuse_existing(a.out, a.overwrite);
  write_file_atomically(a.out, text);
  say(a.out);
}

void run_derive(const Command& command, DeriveArguments& a) {
  if (!command.given("model")) a.example.init = true;
  check_example_options(command, a.example);
  a.example.float64 = true;
  const bool program = a.format == "cpp" || a.format == "numpy";
  if (program && command.given("level"))
    throw ValueError("--level",
                     "a program has the whole pass: --format text, markdown, latex, "
                     "align or html");
  if (a.level == "paper" && a.order == 2)
    throw ValueError("--level", "paper has the first order: --order 2 needs rules or primitives");
  const auto made = make_example(a.example);
  Example& example = *made;
  derive::ConstantNames names;
  const bool second = a.order == 2, whole = a.module.empty();
  const RecordedLoss record = [&](Example& e, derive::ConstantNames& constants) {
    const Var loss = recorded_loss(e, constants);
    return second && whole ? derive::along_directions(loss, constants) : loss;
  };
  Pass pass([&] { return record(example, names); });
  if (program) return write_program(command, a, example, pass, names, record);
  if (a.level == "paper") {
    derive::Sheet sheet = derive::paper_of(pass, a.module);
    sheet.title = example.heading();
    return write_sheet(command, a, example, std::move(sheet));
  }
  pass.end();
  const bool equations = a.level == "rules";
  const auto lettered = lettered_pass(a.example, example, pass, record);
  const derive::Listing listing(second ? written(lettered->pass, a.module, 2, lettered->names).trace
                                       : derive::trace_of(lettered->pass, lettered->names.names),
                                equations);
  derive::Sheet sheet =
      derive::sheet_of(listing, lettered->letters, second ? "" : a.module, equations);
  sheet.title = example.heading();
  if (second)
    sheet.notes.insert(
        sheet.notes.begin(),
        "dL is the derivative of the loss along a direction v of every leaf. At the right is its "
        "gradient: dw is the Hessian times v at a leaf w; ddx, the gradient of dx, is the change "
        "of x along v; dx_2 is that of an x that has a dx.");
  write_sheet(command, a, example, std::move(sheet));
}

}  // namespace

Command derive_command() {
  auto a = std::make_shared<DeriveArguments>();
  Command c("derive", "the backward pass written out: a page to read, or a program to run");
  c.option("module", &a->module,
           "a part of the model, or the end of its name: layers.0.multihead_attn (without: all)");
  c.option("format", &a->format, "how it is written; align is LaTeX for a slide").choices = {
      "text", "markdown", "latex", "align", "html", "numpy", "cpp"};
  c.option(
       "level", &a->level,
       "rules: each op's equations; primitives: what they compute, in infix; paper: the parts of a "
       "Transformer, head by head")
      .choices = {"rules", "primitives", "paper"};
  c.option("order", &a->order,
           "1: gradients; 2: dL, the loss's derivative along a direction v of every leaf, and its "
           "gradient, the Hessian times v",
           {1, 2});
  c.option("out", &a->out, "file, or folder of a program and its data");
  c.option("overwrite", &a->overwrite, "replace them");
  a->example.model.clear();  // without: a fresh one
  add_example_options(c, a->example, false);
  c.run = [a](Command& command) { run_derive(command, *a); };
  return c;
}

}  // namespace glim
