// glim inspect: one example forward and backward, as a page, as data and as pictures.
#include <filesystem>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/example_options.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/common/folder.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/render/drawing.hpp"

namespace glim {
namespace {

struct InspectArguments {
  ExampleOptions example;
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
std::vector<WantedPicture> wanted_pictures(const Inspection& inspection,
                                           const InspectArguments& a) {
  std::vector<WantedPicture> wanted;
  for (const std::string& pattern : a.svg)
    for (const std::string& name : matching_pictures(inspection, pattern))
      wanted.push_back({name, false});
  for (const std::string& pattern : a.png)
    for (const std::string& name : matching_pictures(inspection, pattern))
      wanted.push_back({name, true});
  return wanted;
}

void write_picture(const Inspection& inspection, const WantedPicture& p,
                   const std::string& folder) {
  std::string path =
      (std::filesystem::path(folder) / (file_stem(p.name) + (p.png ? ".png" : ".svg"))).string();
  std::string svg = picture_svg(inspection, p.name);
  if (p.png)
    write_png(svg, path);
  else
    write_file_atomically(path, std::string_view(svg));
  print_line(path);
}

void run_inspect(const Command& command, InspectArguments& a) {
  namespace fs = std::filesystem;
  finish_example_options(command, a.example);
  Example example(a.example);
  InspectionOptions options;
  options.attention = !a.no_attention;
  options.attribution_steps = a.steps;
  Inspection inspection = inspect(example, options);
  if (a.pictures) {
    print("pictures for --svg and --png:\n");
    for (const std::string& name : picture_names(inspection)) print("  " + name + "\n");
    return;
  }
  std::vector<WantedPicture> pictures = wanted_pictures(inspection, a);
  make_folder(a.out);
  DocumentOptions document;
  document.tensors = !a.no_tensors;
  document.most_bytes = static_cast<std::uint64_t>(a.most_mb * 1e6);
  print(fmt::format("{}: \"{}\" -> \"{}\"{}\nloss {:.4f} a token, {} nodes\n", inspection.title,
                    inspection.source_text, inspection.target_text,
                    inspection.own_target ? " (the model's own translation)" : "",
                    inspection.capture.loss, inspection.capture.nodes.size()));
  for (const Remark& r : inspection.remarks) print("  " + r.text + "\n");
  for (const WantedPicture& p : pictures) write_picture(inspection, p, a.out);
  auto file = [&](const char* name) { return (fs::path(a.out) / name).string(); };
  write_inspection_json(inspection, file("inspect.json"), document);
  print_line(file("inspect.json"));
  if (document.tensors) {
    write_inspection_tensors(inspection, file("inspect.safetensors"), document);
    print_line(file("inspect.safetensors"));
  }
  write_inspection_page(inspection, file("inspect.html"), document);
  print_line(file("inspect.html") + ": open it in a browser");
}

}  // namespace

Command inspect_command() {
  auto a = std::make_shared<InspectArguments>();
  Command c("inspect", "watch the gradient of one sentence pair: a page, data, pictures");
  add_example_options(c, a->example);
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
