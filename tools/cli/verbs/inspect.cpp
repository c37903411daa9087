// glim inspect: one example forward and backward, as a page, as data and as pictures.
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "models/tokenizers/utf8.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/system/process.hpp"
#include "tools/cli/example_options.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/number.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/inspect/report/replay.hpp"
#include "tools/inspect/report/training_run.hpp"
#include "tools/inspect/request.hpp"
#include "tools/measure/patching.hpp"
#include "tools/measure/score_sources.hpp"

namespace glim {
namespace {

struct InspectArguments {
  ExampleOptions example;
  std::string out = "inspect";
  std::vector<std::string> svg;
  bool live = false, slides = false, no_tensors = false, pictures = false, data = false,
       overwrite = false;
  int steps = 32;
  std::string run;
  Index step = 0;
  double most_mb = 200;
  std::string why, other;
  std::vector<std::string> part, patch;
  bool json = false;
  bool prints() const { return pictures || !why.empty() || !patch.empty(); }
};

// A live page's module, which tools/live/build puts beside the program, an installation into share/glim, and a wheel into
// the package's folder, which GLIM_PACKAGE names.
std::string module_part(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path bin = fs::path(program_path()).parent_path();
  const fs::path package = environment("GLIM_PACKAGE").value_or(bin.string());
  for (const fs::path& folder : {bin, bin.parent_path() / "share/glim", package})
    if (fs::exists(folder / name)) return read_file((folder / name).string(), "--live");
  throw ValueError("--live", "this program comes without " + name +
                                 ": `tools/setup live && tools/build`, in the sources of Glim, "
                                 "makes one with it");
}

LivePart live_part(const Command& command, const InspectArguments& a, const Example& example) {
  for (const TokenizerPtr& t : {example.tokenizers.source, example.tokenizers.target})
    if (t && t->kind() == "sentencepiece")
      throw ValueError(
          "--live", "a page has no SentencePiece: the model needs --tokenizer word, char or mixed");
  LivePart live{module_part("live.js"), module_part("live.wasm"), {}, {},
                example.images,         {"glim", "inspect"}};
  ExampleOptions request = a.example;
  if (example.images.files.empty())
    request.source = example.source.empty() ? example.target_text : example.source_text;
  if (!example.source.empty() && !example.target_in.empty()) request.target = example.target_text;
  if (request.init) {
    for (const Option& o : command.options)
      if (o.is_set && o.group == "Fresh model") {
        std::string value = toml_value(o);
        if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
        live.command.push_back("--" + o.name);
        if (!o.is_flag()) live.command.push_back(value);
      }
  } else {
    live.command.insert(live.command.end(), {"--model", request.model});
    live.model = read_file(model_file(request.model), "--live");
    request.model = "model.safetensors";  // in the page's file system
  }
  live.request = in_json(request_of(request));
  return live;
}

// The words of this command but for those that are about the files of the page, and the options with several values.
void keep_command(const Command& command, DocumentOptions& document) {
  const std::set<std::string_view> about_files{"out",    "overwrite", "data",       "svg",
                                               "slides", "live",      "no-tensors", "max-mb"};
  document.command = {"glim", "inspect"};
  for (const Option& o : command.options) {
    if (o.is_list()) document.lists.push_back(o.name);
    if (o.typed.empty() || about_files.contains(o.name)) continue;
    const bool dashes =
        !o.is_flag() && o.typed[0].starts_with("--");  // else it would be the next option
    document.command.push_back("--" + o.name + (dashes ? "=" + o.typed[0] : ""));
    if (!o.is_flag() && !dashes)
      document.command.insert(document.command.end(), o.typed.begin(), o.typed.end());
  }
}

// "a cat" -> "一只猫"; of a long text the beginning.
std::string words_of(const TrainingSample& s) {
  auto quoted = [](std::string text) {
    for (std::size_t end; (end = text.find('\n')) != text.npos;) text.replace(end, 1, "↵");
    return '"' + (display_width(text) > 70 ? fit_columns(text, 70) : text) + '"';
  };
  std::string words = s.image.empty() ? quoted(s.sentence) : s.image;
  for (const std::string* target : {&s.translation, &s.label})
    if (!target->empty()) words += " -> " + quoted(*target);
  if (!s.hide.empty()) words += ", hidden:";
  for (const std::string& token : s.hide) words += " " + token;
  return words;
}

// The model before a step of a run, into the folder of the page, and the sample to look at, with its loss in the step
// where nothing is changed.
std::optional<double> replay(const Command& command, InspectArguments& a) {
  if (!command.given("run")) return {};
  if (!command.given("step")) throw ValueError("--run", "needs --step N, the step to look at");
  for (const char* other : {"model", "fresh"})
    if (command.given(other))
      throw ValueError(std::string("--") + other,
                       "--run looks at the model of the run; give one of them");
  const std::string model =
      (std::filesystem::path(a.out) / fmt::format("step-{}.safetensors", a.step)).string();
  refuse_existing(model, a.overwrite);
  ReplayedStep r = replay_step(a.run, a.step);
  const std::string is = !r.recorded             ? ", which was not recorded"
                         : *r.recorded == r.loss ? ", bit for bit the recorded one"
                         : std::isnan(r.loss)
                             ? ""
                             : fmt::format(
                                   ", not the recorded {}: another CPU, version or "
                                   "OPENBLAS_CORETYPE",
                                   *r.recorded);
  say(fmt::format("step {} of {}, made again from step {}: loss {:.6g}{}; gradient norm {}", a.step,
                  a.run, r.start, r.loss, is, four_digits(r.gradient_norm)));
  say("the largest parts of its gradient:");
  for (std::size_t i = 0; i < std::min<std::size_t>(r.samples.size(), 3); ++i)
    say(fmt::format("  {}  {}", four_digits(r.samples[i].gradient_norm), words_of(r.samples[i])));
  make_folder(a.out);
  save_checkpoint(model, r.before);
  say(model + ": the model before the step, for --model");
  a.example.model = model;
  // The first whose sentence or image is the one asked for, or the first of all.
  ExampleOptions& request = a.example;
  auto fits = [](const std::string& expected, const std::string& its) {
    return expected.empty() || expected == its;
  };
  for (const ReplayedSample& s : r.samples) {
    if (!fits(request.source, s.sentence) || !fits(request.image, s.image)) continue;
    const bool is_changed = !fits(request.target, s.translation) || !fits(request.label, s.label) ||
                            !(request.hide.empty() || request.hide == s.hide) ||
                            !request.paint.empty() || request.changes.forward();
    request.source = s.sentence;
    request.image = s.image;
    if (request.target.empty()) request.target = s.translation;
    if (request.label.empty()) request.label = s.label;
    if (request.hide.empty()) request.hide = s.hide;
    return is_changed ? std::nullopt : std::optional(s.loss);
  }
  return {};
}

// The sources of the score that --why names, HEAD:QUERY,KEY.
void print_why(Example& example, const InspectArguments& a) {
  const Pass pass = pass_of(example);
  const auto comma = std::min(a.why.rfind(','), a.why.size()), colon = a.why.rfind(':', comma);
  const std::string_view text = a.why;
  const auto query = number_in<Index>(text.substr(colon + 1, comma - colon - 1)),
             key = number_in<Index>(text.substr(std::min(comma + 1, text.size())));
  if (colon == text.npos || !query || !key)
    throw ValueError("--why",
                     "'" + a.why + "' is not of the form MODULE:HEAD:QUERY,KEY, numbers from 0 on");
  const std::string head = a.why.substr(0, colon);
  const std::vector<AttentionView> views = attention_views(pass, example);
  if (!a.part.empty()) {
    const SplitPart part = split_part(pass, head, *query, *key, a.part[0], a.part[1]);
    if (a.json) return print(in_json(in_json(part)) + "\n");
    return print(split_text(part, [&](const std::string& source) {
      for (const AttentionView& v : views)
        if (source.starts_with(v.module + ":")) return v.keys;
      return std::vector<std::string>();
    }));
  }
  const ScoreParts parts = score_parts(pass, head, *query, *key);
  if (a.json) return print(in_json(in_json(parts)) + "\n");
  for (const AttentionView& v : views)
    if (v.module == parts.module)
      return print(score_text(parts, v.queries[static_cast<std::size_t>(*query)],
                              v.keys[static_cast<std::size_t>(*key)]));
  print(score_text(parts));
}

// The loss with the values of --patch-node from the sentence or image of --patch-from.
void print_patches(Example& example, const InspectArguments& a) {
  const PatchTable table =
      patched_from(pass_of(example), pass_of_other(example, a.example, a.other), a.patch);
  print(a.json ? in_json(in_json(table)) + "\n"
               : patch_text(table, !example.is_one_stack()  ? std::vector<std::string>()
                                   : example.source.empty() ? example.target_in
                                                            : example.source));
}

void run_inspect(const Command& command, InspectArguments& a) {
  namespace fs = std::filesystem;
  check_example_options(command, a.example);
  // A missing model or run is reported first.
  if (command.given("step") && !command.given("run"))
    throw ValueError("--step", "is a step of which run? Give --run FOLDER, too");
  if (command.given("run"))
    require_run(a.run);
  else if (!a.example.init)
    model_file(a.example.model);
  auto file = [&](const char* name) { return (fs::path(a.out) / name).string(); };
  std::string page = file("inspect.html"), values = file("inspect.json"),
              tensors = file("inspect.safetensors");
  const bool prints = a.prints();
  if (a.json && a.why.empty() && a.patch.empty())
    throw ValueError("--json", "prints what --why or --patch-node finds: give one of them, too");
  if (!a.part.empty() && (a.why.empty() || a.part.size() != 2))
    throw ValueError("--why-part",
                     "names a part of the table of --why by two sources, of the query and of the "
                     "key: --why HEAD:QUERY,KEY --why-part SOURCE SOURCE");
  if (a.patch.empty() != a.other.empty())
    throw ValueError(
        a.other.empty() ? "--patch-node" : "--patch-from",
        "--patch-node NODE takes its value from the sentence or image --patch-from: give both");
  if (!prints) refuse_existing(page, a.overwrite);
  if (!prints && a.data)
    for (const std::string& path : {values, tensors}) refuse_existing(path, a.overwrite);
  const std::optional<double> in_step = replay(command, a);
  if (!a.why.empty()) a.example.float64 = true;  // the parts add up to rounding
  const auto made = make_example(a.example);
  Example& example = *made;
  if (!a.why.empty()) return print_why(example, a);
  if (!a.patch.empty()) return print_patches(example, a);
  InspectionOptions options;
  options.attribution_steps = a.steps;
  DocumentOptions document;
  keep_command(command, document);
  if (a.live) document.live = live_part(command, a, example);
  Inspection inspection = inspect(example, options);
  const std::vector<Picture> all = pictures(inspection, a.slides ? 20. / 11 : 1);
  if (a.pictures) return list_pictures(all);
  std::map<std::string, const Picture*> files;  // by path
  for (const auto& [path, p] : pictures_asked_for("inspect", all, a.svg, a.out)) files[path] = p;
  for (const auto& [path, p] : files) refuse_existing(path, a.overwrite);
  make_folder(a.out);
  document.tensors = !a.no_tensors;
  document.most_bytes = static_cast<std::uint64_t>(a.most_mb * 1e6);
  const std::string read =
      inspection.source.empty() ? "" : fmt::format("\"{}\" -> ", inspection.source_text);
  say(fmt::format("{}: {}\"{}\"{}\nloss {:.4f}{}, {} nodes", example.heading(), read,
                  inspection.target_text, inspection.own_target ? " (the model's own)" : "",
                  inspection.pass.loss_value(),
                  inspection.target_out.size() > 1 ? " per token" : "", inspection.pass.size()));
  if (const double loss =
          inspection.pass.loss_value() * static_cast<double>(inspection.target_out.size());
      in_step && std::abs(loss - *in_step) > 1e-4 * std::abs(*in_step))
    say(fmt::format("its loss in the step was {:.4f}: by itself its text is read as other tokens",
                    *in_step / static_cast<double>(inspection.target_out.size())));
  for (const Remark& r : inspection.remarks) say("  " + r.text);
  for (const auto& [path, p] : files) {
    write_file_atomically(path, std::string_view(p->svg()));
    say(path);
  }
  if (a.data) {
    write_inspection_json(inspection, values, document);
    say(values);
  }
  if (a.data && document.tensors) {
    write_inspection_tensors(inspection, tensors, document);
    say(tensors);
  }
  write_inspection_page(page_data(inspection, document), page, document);
  say(page + ": open it in a browser");
}

}  // namespace

Command inspect_command() {
  auto a = std::make_shared<InspectArguments>();
  Command c("inspect", "watch the gradient of one example: a page, data, pictures");
  add_example_options(c, a->example, true);
  Option& run =
      c.option("run", &a->run,
               "a training run, whose step --step is made again: its model before, and the "
               "sample with the largest gradient, or the one that --sentence or --image names");
  run.group = "A step of a run";
  c.option("step", &a->step, "which step", kCount).group = "A step of a run";
  c.option("out", &a->out, "folder of the page and the files").group = "";
  c.option("live", &a->live,
           "a page with Glim and the model in it: change something, see every gradient anew");
  c.option("overwrite", &a->overwrite, "replace the page and the files");
  c.option("data", &a->data,
           "write inspect.json and inspect.safetensors too: every tensor, in full");
  c.option("svg", &a->svg, "single pictures, by name or pattern (--list-pictures)");
  c.option("slides", &a->slides, "pictures of attention and tokens with labels of 20 px");
  c.option("list-pictures", &a->pictures, "print the names of all pictures and stop");
  c.option("why", &a->why,
           "print why a query attends to a key, MODULE:HEAD:QUERY,KEY, and stop: the score by what "
           "query and key come from");
  c.option("why-part", &a->part,
           "split one part of --why again, by what its sources read: two names, the source of the "
           "query and that of the key");
  c.option("patch-node", &a->patch,
           "print the loss with these nodes' values of the sentence or image of --patch-from, "
           "beside its "
           "estimates by gradient and curvature, and stop: names and patterns of nodes");
  c.option("patch-from", &a->other, "the other sentence or image");
  c.option("json", &a->json, "print one JSON object instead of the table of --why or --patch-node");
  c.option("attribution-steps", &a->steps,
           "points of the integrated gradients (0: no attributions)", Range{0, 10'000});
  c.option("no-tensors", &a->no_tensors, "leave out activations and gradients");
  c.option("max-mb", &a->most_mb, "largest size of a file",
           {.least = 0, .most = 1e9, .above = true});
  c.run = [a](Command& command) { run_inspect(command, *a); };
  return c;
}

}  // namespace glim
