#include "tools/course/handout.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/nearest.hpp"
#include "tools/course/runner_process.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/data/corpus/records.hpp"

namespace glim::course {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDeck = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{0}</title>
<style>
html {{ scroll-snap-type: y mandatory }}
section {{ height: 100vh; display: flex; flex-direction: column; align-items: center; scroll-snap-align: start }}
h1 {{ font: 1.2rem sans-serif; margin: 1rem }}
svg {{ flex: 1; min-height: 0; width: 95vw }}
</style>
{1}<script>
addEventListener("keydown", e => {{
  const step = {{ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1}}[e.key];
  if (step) {{ e.preventDefault(); scrollBy({{top: step * innerHeight}}) }}
}});
</script></html>
)";

// The output of a command. ValueError with its last line if it fails.
std::string printed_by(const std::string& command) {
  auto [text, status] = output_of(command);
  if (status == 0) return text;
  text.erase(text.find_last_not_of('\n') + 1);
  const std::string last = text.substr(text.rfind('\n') + 1);
  throw ValueError("course handout", last.starts_with("glim: error: ") ? last.substr(13) : last);
}

// This program: in the Python package it is a module.
std::string this_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return program.filename().string().starts_with("python") ? typed_word(python()) + " -m glim"
                                                           : typed_word(program.string());
}

// Every head's picture, and those of the tokens.
std::vector<std::string> pictures_of(const std::string& inspect) {
  std::vector<std::string> names;
  for (const std::string& line : divided(printed_by(inspect + " --list-pictures"), '\n')) {
    const std::string name = line.substr(std::min(line.find_first_not_of(' '), line.size())),
                      last = name.substr(name.rfind('/') + 1);
    if (last.starts_with("head") || name == "tokens" || name == "rollout") names.push_back(name);
  }
  return names;
}

}  // namespace

void write_handout(const Handout& h) {
  const fs::path folder = fs::absolute(h.folder);  // begins with no "-"
  for (const char* name : {"handout.tex", "handout.html", "page", "deck.html"})
    if (fs::exists(folder / name))
      throw ValueError("--out", (folder / name).string() + " exists: name another folder");
  make_folder(h.folder);
  std::string example =
      " " + typed_option("model", h.model) + " " + typed_option("sentence", h.sentence);
  if (!h.translation.empty()) example += " " + typed_option("translation", h.translation);
  const std::string glim = this_program(), inspect = glim + " inspect" + example;
  const bool pdf = std::system("pdflatex --version >/dev/null 2>&1") == 0;
  const std::string sheet = pdf ? "handout.tex" : "handout.html";
  printed_by(fmt::format("{} derive{} --format {} --out {}", glim, example, pdf ? "latex" : "html",
                         typed_word((folder / sheet).string())));
  if (pdf)
    printed_by("cd " + typed_word(folder.string()) +
               " && pdflatex -interaction=batchmode handout.tex");
  const std::vector<std::string> names = pictures_of(inspect);
  std::string wanted = names.empty() ? "" : " --svg", slides;
  for (const std::string& name : names) wanted += " " + typed_word(name);
  printed_by(inspect + wanted + " --out " + typed_word((folder / "page").string()));
  for (const std::string& name : names) {
    const std::string svg =
        read_file((folder / "page" / (file_stem(name) + ".svg")).string(), "course handout");
    slides += fmt::format("<section><h1>{}</h1>\n{}</section>\n", in_xml(name),
                          svg.substr(std::min(svg.find("<svg"), svg.size())));
  }
  write_file_atomically((folder / "deck.html").string(), fmt::format(kDeck, "Pictures", slides));
}

}  // namespace glim::course
