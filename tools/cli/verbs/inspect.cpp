// glim inspect: one example forward and backward, as a page, as data and as pictures.
#include <filesystem>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/folder.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/options.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/render/drawing.hpp"

namespace glim {
namespace {

struct InspectArguments {
  SpecimenOptions specimen;
  std::string out = "inspect";
  std::vector<std::string> svg, png;
  bool no_attention = false, no_tensors = false, pictures = false;
  int steps = 32;
  double most_mb = 200;
};

struct WantedPicture {
  std::string name;
  bool png;
};
std::vector<WantedPicture> wanted_pictures(const Look& look, const InspectArguments& a) {
  std::vector<WantedPicture> wanted;
  for (const std::string& pattern : a.svg)
    for (const std::string& name : matching_pictures(look, pattern))
      wanted.push_back({name, false});
  for (const std::string& pattern : a.png)
    for (const std::string& name : matching_pictures(look, pattern)) wanted.push_back({name, true});
  return wanted;
}

void write_picture(const Look& look, const WantedPicture& p, const std::string& folder) {
  std::string path =
      (std::filesystem::path(folder) / (file_stem(p.name) + (p.png ? ".png" : ".svg"))).string();
  std::string svg = picture_svg(look, p.name);
  if (p.png)
    write_png(svg, path);
  else
    write_file_atomically(path, std::string_view(svg));
  print_line(path);
}

void run_inspect(const Command& command, InspectArguments& a) {
  namespace fs = std::filesystem;
  finish_specimen_options(command, a.specimen);
  Specimen specimen(a.specimen);
  LookOptions options;
  options.attention = !a.no_attention;
  options.attribution_steps = a.steps;
  Look look = look_at(specimen, options);
  if (a.pictures) {
    print("pictures for --svg and --png:\n");
    for (const std::string& name : picture_names(look)) print("  " + name + "\n");
    return;
  }
  std::vector<WantedPicture> pictures = wanted_pictures(look, a);
  make_folder(a.out);
  DocumentOptions document;
  document.tensors = !a.no_tensors;
  document.most_bytes = static_cast<std::uint64_t>(a.most_mb * 1e6);
  print(fmt::format("{}: \"{}\" -> \"{}\"{}\nloss {:.4f} a token, {} nodes\n", look.title,
                    look.source_text, look.target_text,
                    look.own_target ? " (the model's own translation)" : "", look.capture.loss,
                    look.capture.nodes.size()));
  for (const Remark& r : look.remarks) print("  " + r.text + "\n");
  for (const WantedPicture& p : pictures) write_picture(look, p, a.out);
  auto file = [&](const char* name) { return (fs::path(a.out) / name).string(); };
  write_look_json(look, file("inspect.json"), document);
  print_line(file("inspect.json"));
  if (document.tensors) {
    write_look_tensors(look, file("inspect.safetensors"), document);
    print_line(file("inspect.safetensors"));
  }
  write_look_page(look, file("inspect.html"), document);
  print_line(file("inspect.html") + ": open it in a browser");
}

}  // namespace

Command inspect_command() {
  auto a = std::make_shared<InspectArguments>();
  Command c("inspect", "watch the gradient of one sentence pair: a page, data, pictures");
  add_specimen_options(c, a->specimen);
  c.option("out", &a->out, "folder of the page and the files");
  c.option("svg", &a->svg, "single pictures, by name or pattern (--list-pictures)");
  c.option("png", &a->png, "the same as PNG");
  c.option("list-pictures", &a->pictures, "print the names of all pictures and stop");
  c.option("steps", &a->steps, "points of the integrated gradients (0: no attributions)", kCount);
  c.option("no-attention", &a->no_attention, "for a model that has none");
  c.option("no-tensors", &a->no_tensors, "leave out activations and gradients");
  c.option("most-mb", &a->most_mb, "largest size of a file",
           {.least = 0, .most = 1e9, .above = true});
  c.run = [a](Command& command) { run_inspect(command, *a); };
  return c;
}

}  // namespace glim
