// glim derive: the forward and the backward pass of a model written out, as a page or as a program.
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "tensor/io/atomic_file.hpp"
#include "tensor/io/safetensors.hpp"
#include "tools/cli/example_options.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/derive/sheet.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {
namespace {

struct DeriveArguments {
  ExampleOptions example;
  std::string module, format = "text", level = "rules", out;
  bool overwrite = false;
};

derive::Letters letters_of(Example& example, const TrainOptions& o) {
  derive::Letters letters;
  auto size = [&](const std::string& letter, Index n) {
    if (n <= 1) return;
    const auto [known, fresh] = letters.of.emplace(n, letter);
    if (fresh || known->second == letter) return;
    const std::string pair = known->second + letter;
    const bool alike = pair == "ST" || pair == "VV'";  // of source and target
    letters.notes.push_back(
        fmt::format("{} = {} = {} here: {}.", known->second, letter, n,
                    alike ? known->second + " stands for both" : "written as a number"));
    if (!alike) letters.shared.insert(n);
  };
  const auto width = static_cast<Index>(o.number("d_model"));
  size("D", width);
  if (const auto heads = static_cast<Index>(o.number("heads")); heads > 0) {
    size("H", heads);
    size("Dh", width / heads);
    size("3D", 3 * width);
    size("2D", 2 * width);
  }
  size("F", static_cast<Index>(o.number("d_ff")));
  if (!example.source.empty()) size("S", std::ssize(example.source));
  size("T", std::max(std::ssize(example.target_in), std::ssize(example.target_out)));
  for (const TokenizerPtr& t : {example.tokenizers.target, example.tokenizers.source})
    if (t) size(t == example.tokenizers.target ? "V" : "V'", t->size());
  if (example.logits) {
    const NoGrad no_tape;
    const Index classes = example.logits().value().size(-1);
    const auto known = letters.of.find(classes);
    if (known == letters.of.end() || known->second[0] != 'V') size("C", classes);
  }
  for (const Index n : letters.shared) letters.of.erase(n);
  return letters;
}

Index heads_of(const TrainOptions& o) { return static_cast<Index>(o.number("heads")); }

struct Lettered {
  std::unique_ptr<Example> example;
  derive::Letters letters;
};

// A fresh model's widths are changed until each letter has a size of its own.
Lettered lettered_example(const Command& command, ExampleOptions& o) {
  TrainOptions& fresh = o.fresh;
  auto chosen = [&](const char* option) {
    return o.init && command.applies(*command.find(option)) && !command.given(option);
  };
  const bool width = chosen("d-model"), hidden = chosen("d-ff"), heads = chosen("heads");
  if (width && command.given("heads")) fresh.set("d_model", 20 * heads_of(fresh));
  for (int tries = 0;; ++tries) {
    auto example = make_example(o);
    derive::Letters letters =
        letters_of(*example, o.init ? fresh : load_checkpoint(model_file(o.model)).options);
    if (letters.shared.empty() || tries == 9 || !(width || hidden))
      return {std::move(example), std::move(letters)};
    if (width && heads) fresh.set("heads", 4);
    if (width) fresh.set("d_model", fresh.number("d_model") + 2 * heads_of(fresh));
    if (hidden) fresh.set("d_ff", fresh.number("d_ff") + 10);
  }
}

// As it was typed.
std::string command_of(const Command& command) {
  std::string text = "glim derive";
  for (const Option& o : command.options) {
    if (!o.given || o.name == "out" || o.name == "overwrite") continue;
    for (const std::string& value : o.typed)
      text += " " + (o.is_flag() ? "--" + o.name : typed_option(o.name, value));
  }
  return text;
}

void run_derive(const Command& command, DeriveArguments& a) {
  namespace fs = std::filesystem;
  if (!command.given("model")) a.example.init = true;
  check_example_options(command, a.example);
  a.example.float64 = true;
  const auto [made, letters] = lettered_example(command, a.example);
  Example& example = *made;
  const bool cpp = a.format == "cpp", program = cpp || a.format == "numpy";
  for (const char* part : {"module", "level"})
    if (program && command.given(part))
      throw ValueError(std::string("--") + part,
                       "a program has the whole pass: --format text, markdown, latex or html");
  StateDict gradients;  // of an ordinary pass
  if (a.format == "numpy") {
    Tape plain;
    plain.backward(example.loss());
    for (std::size_t i = 0; i < plain.nodes().size(); ++i)
      if (const auto& leaf = plain.nodes()[i].leaf; leaf && leaf->grad.defined())
        gradients[plain.path(static_cast<int>(i))] = leaf->grad;
    example.model().zero_grad();
  }
  derive::ConstantNames names;
  Tape tape({.replay = true});
  tape.observe(names);
  const Var loss = example.loss();
  derive::Trace trace = derive::trace_of(Pass(tape, loss), names.names);
  if (program) {
    const fs::path folder = a.out.empty() ? "derive" : a.out;
    const std::string code = (folder / (cpp ? "backward.cpp" : "backward.py")).string(),
                      data = (folder / "backward.safetensors").string();
    for (const std::string& path : {code, data}) refuse_existing(path, a.overwrite);
    make_folder(folder.string());
    StateDict all;
    for (const auto& [name, leaf] : trace.parameters) {
      all[name] = trace[leaf].value.contiguous();
      const int g = trace.gradient(leaf);
      if (cpp && g >= 0) gradients[name] = trace[g].value;
    }
    for (const auto& [name, x] : gradients) all["gradient." + name] = x.contiguous();
    for (const auto& [name, x] : derive::constants_of(trace)) all["batch." + name] = x.contiguous();
    const derive::Listing listing(std::move(trace));
    write_file_atomically(
        code,
        (cpp ? derive::cpp_program : derive::numpy_program)(
            listing, letters, {example.heading(), command_of(command), "backward.safetensors"}));
    write_safetensors(data, all);
    say(fmt::format("loss {:.15g}", loss.item()));
    say(code);
    say(data);
    return;
  }
  const bool equations = a.level == "rules";
  const derive::Listing listing(std::move(trace), equations);
  derive::Sheet sheet = derive::sheet_of(listing, letters, a.module, equations);
  sheet.title = example.heading();
  if (example.changes().any())
    sheet.notes.push_back("This pass was changed: " + command_of(command) + ".");
  for (const std::string& note : letters.notes) sheet.notes.push_back(note);
  const std::string text = a.format == "text"    ? derive::text_of(sheet)
                           : a.format == "latex" ? derive::document_of(sheet, derive::kLatex)
                           : a.format == "html"  ? derive::document_of(sheet, derive::kHtml)
                                                 : derive::document_of(sheet, derive::kMarkdown);
  if (a.out.empty()) return print(text);
  refuse_existing(a.out, a.overwrite);
  write_file_atomically(a.out, text);
  say(a.out);
}

}  // namespace

Command derive_command() {
  auto a = std::make_shared<DeriveArguments>();
  Command c("derive", "the backward pass written out: a page to read, or a program to run");
  c.option("module", &a->module,
           "a part of the model: decoder.layers.0.multihead_attn (without: all)");
  c.option("format", &a->format, "how it is written").choices = {"text", "markdown", "latex",
                                                                 "html", "numpy",    "cpp"};
  c.option("level", &a->level,
           "rules: each op's equations; primitives: what they compute, in infix")
      .choices = {"rules", "primitives"};
  c.option("out", &a->out, "file, or folder of a program and its data");
  c.option("overwrite", &a->overwrite, "replace them");
  a->example.model.clear();  // without: a fresh one
  add_example_options(c, a->example, false);
  // Small sizes that differ, so that a letter is one of them.
  c.adjust = [a, adjust = c.adjust](Command& command) {
    adjust(command);
    TrainOptions& o = a->example.fresh;
    for (auto [key, value] : {std::pair{"layers", 2}, {"d_model", 40}, {"heads", 2}, {"d_ff", 48}})
      if (!o.value(key).is_null() && !command.given(dashed(key))) o.set(key, value);
  };
  c.run = [a](Command& command) { run_derive(command, *a); };
  return c;
}

}  // namespace glim
