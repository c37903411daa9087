#include "tools/course/handout.hpp"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/system/process.hpp"
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
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{0}</title>
<style>
html {{ scroll-snap-type: y mandatory; background: #fff; color: #000 }}
body {{ margin: 0; font: 24px/1.3 "DejaVu Sans", system-ui, sans-serif }}
section {{ height: 100vh; box-sizing: border-box; padding: 8px; display: flex; flex-direction: column; align-items: center;
  scroll-snap-align: start }}
svg {{ flex: 1; min-height: 0; width: 100% }}
p {{ margin: 4px 0; text-align: center }}
.equation {{ font: italic 28px "DejaVu Serif", serif }}
small {{ color: #555; overflow-wrap: anywhere }}
@media (max-width: 760px) {{ body {{ font-size: 18px }} .equation {{ font-size: 20px }} }}
</style>
{1}<script>
addEventListener("keydown", e => {{
  const step = {{ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1}}[e.key];
  if (step) {{ e.preventDefault(); scrollBy({{top: step * innerHeight}}) }}
}});
</script></html>
)";

// Pictures of the deck by the last part of their name, with what they show and its equation.
struct Caption {
  std::string_view name, words, equation;
};
constexpr std::array<Caption, 6> kCaptions{{
    {"A", "How much of each key (column) a query (row) takes. Rows add up to 1.", "A = softmax(S)"},
    {"S", "The scores that the softmax gets.", "S = Q Kᵀ / √Dₖ"},
    {"dA",
     "What the loss asks of each probability: more of an orange one raises the loss, of a "
     "blue one lowers it.",
     "∂L/∂A = ∂L/∂O Vᵀ"},
    {"dS", "What the softmax passes on to the scores. Rows add up to 0.",
     "∂L/∂S = A ⊙ (∂L/∂A − Σ A ⊙ ∂L/∂A)"},
    {"tokens", "How much each token adds to ln p of the target: integrated gradients.",
     "x ⊙ ∫₀¹ ∂ln p/∂x(αx) dα"},
    {"rollout",
     "How much of each source token (column) is in each position (row), over all layers.",
     "R = Π (A + I) / 2"},
}};

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
  const fs::path program = fs::path(program_path());
  return program.filename().string().starts_with("python") ? typed_word(python()) + " -m glim"
                                                           : typed_word(program.string());
}

// The pictures that have a caption.
std::vector<std::pair<std::string, const Caption*>> pictures_of(const std::string& inspect) {
  std::vector<std::pair<std::string, const Caption*>> names;
  for (const std::string& line : divided(printed_by(inspect + " --list-pictures"), '\n')) {
    const std::string name = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const std::size_t slash = name.rfind('/'), head = name.rfind('/', slash - 1) + 1;
    const bool map = slash != std::string::npos && name.compare(head, 4, "head") == 0;
    if (slash != std::string::npos && !map) continue;
    for (const Caption& c : kCaptions)
      if (c.name == name.substr(slash + 1) && map == (c.name.size() < 3))
        names.emplace_back(name, &c);
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
  const auto names = pictures_of(inspect);
  int count = 0;
  std::string arguments = names.empty() ? "" : " --slides --svg", slides;
  for (const auto& [name, caption] : names) arguments += " " + typed_word(name);
  printed_by(inspect + arguments + " --out " + typed_word((folder / "page").string()));
  for (const auto& [name, caption] : names) {
    std::string svg =
        read_file((folder / "page" / (file_stem(name) + ".svg")).string(), "course handout");
    const std::string id = fmt::format("masked-{}", ++count);  // a page has each id once
    for (std::size_t place = 0; (place = svg.find("masked", place)) != svg.npos; place += id.size())
      if (place > 0 && (svg[place - 1] == '#' || svg[place - 1] == '"')) svg.replace(place, 6, id);
    slides += fmt::format(
        "<section>\n{}<p>{}</p>\n<p class=\"equation\">{}</p>\n<small>{}</small></section>\n",
        svg.substr(std::min(svg.find("<svg"), svg.size())), caption->words, caption->equation,
        in_xml(name));
  }
  write_file_atomically((folder / "deck.html").string(), fmt::format(kDeck, "Pictures", slides));
}

}  // namespace glim::course
