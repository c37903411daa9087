#include "tools/course/handout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
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
body {{ margin: 0; font: 18px/1.3 "DejaVu Sans", "Noto Sans CJK SC", system-ui, sans-serif }}
section {{ height: 100vh; box-sizing: border-box; padding: 8px; display: flex; flex-direction: column; scroll-snap-align: start }}
.title {{ justify-content: center; text-align: center; font-size: 28px }}
h1 {{ font-size: 1.8em; margin: 8px }}
h2 {{ font-size: 1.2em; margin: 0 4px }}
.maps {{ flex: 1; min-height: 0; display: grid; grid-template: repeat(2, minmax(0, 1fr)) / repeat(2, minmax(0, 1fr)); gap: 4px }}
.maps:has(> :only-child) {{ grid-template: minmax(0, 1fr) / minmax(0, 1fr) }}
figure {{ margin: 0; display: flex; align-items: center; min-width: 0; min-height: 0 }}
svg {{ flex: 3; min-width: 0; height: 100% }}
figcaption {{ flex: 1; min-width: 150px; font-size: 16px }}
.equation {{ font: italic 20px "DejaVu Serif", serif; margin: 4px 0 }}
small {{ color: #555; overflow-wrap: anywhere }}
#place {{ position: fixed; right: 12px; bottom: 8px; color: #555 }}
body:not(.all) .other {{ display: none }}
@media (max-width: 760px) {{ section {{ height: auto; min-height: 100vh }} .maps {{ grid-template: none / minmax(0, 1fr) }}
  figure {{ flex-direction: column }} svg {{ flex: none; width: 100%; height: auto }} .title {{ font-size: 18px }} }}
@media print {{ #place {{ display: none }} section {{ break-after: page }} }}
</style>
{1}<div id="place" role="status"></div><script>
const slides = () => [...document.querySelectorAll("section")].filter(s => s.offsetHeight);
const now = () => slides().findLastIndex(s => s.getBoundingClientRect().top < innerHeight / 2);
const show = n => slides()[Math.max(0, Math.min(n, slides().length - 1))].scrollIntoView();
const count = () => {{ document.getElementById("place").textContent = `${{now() + 1}} / ${{slides().length}}`; }};
let typed = "", pause;
addEventListener("keydown", e => {{
  const step = {{ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1}}[e.key];
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (step) {{ e.preventDefault(); show(now() + step); }}
  if (e.key === "Home" || e.key === "End") {{ e.preventDefault(); show(e.key === "Home" ? 0 : Infinity); }}
  if (e.key === "a") {{ const slide = slides()[now()]; document.body.classList.toggle("all"); (slide.offsetHeight ? slide : slides()[0]).scrollIntoView(); }}
  if (e.key >= "0" && e.key <= "9") {{
    typed += e.key;
    clearTimeout(pause);
    pause = setTimeout(() => {{ typed = ""; }}, 800);
    show(Number(typed) - 1);
  }}
  count();
}});
addEventListener("scroll", count);
count();
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
     "∂L/∂A = ∂L/∂O\u00a0Vᵀ"},
    {"dS", "What the softmax passes on to the scores. Rows add up to 0.",
     "∂L/∂S = A ⊙ (∂L/∂A\u00a0− Σ\u00a0A\u00a0⊙\u00a0∂L/∂A)"},
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

// A picture that `inspect` wrote, with its caption. Ids of the deck are there once.
std::string figure(const fs::path& page, const std::string& picture, std::string_view name,
                   int& count) {
  std::string svg = read_file((page / (file_stem(picture) + ".svg")).string(), "course handout");
  const std::string id = fmt::format("masked-{}", ++count);
  for (std::size_t place = 0; (place = svg.find("masked", place)) != svg.npos; place += id.size())
    if (place > 0 && (svg[place - 1] == '#' || svg[place - 1] == '"')) svg.replace(place, 6, id);
  const Caption& c = *std::ranges::find(kCaptions, name, &Caption::name);
  return fmt::format("<figure>{}<figcaption>{}<p class=\"equation\">{}</p></figcaption></figure>\n",
                     svg.substr(std::min(svg.find("<svg"), svg.size())), c.words, c.equation);
}

constexpr std::array<const char*, 4> kMaps{"A", "dA", "S", "dS"};

struct HeadSlide {
  std::string name, title;  // "decoder.layers.0.multihead_attn/head1"
  bool cross;
  double change;  // of the loss, without the head
};

// Cross-attention first, in each the heads that the loss needs most.
std::vector<HeadSlide> heads_of(const nlohmann::json& found) {
  std::vector<HeadSlide> heads;
  for (const auto& view : found["attention"])
    for (std::size_t h = 0; h < view["heads"].size(); ++h) {
      const std::string side = view["side"];
      const auto& effects = view["without"];
      const bool measured = !effects.empty() && effects[h]["change"].is_number();
      heads.push_back({fmt::format("{}/head{}", view["module"].get<std::string>(), h),
                       fmt::format("{}, layer {}, head {}", side, view["layer"].get<int>(), h),
                       side == "cross", measured ? effects[h]["change"].get<double>() : 0});
    }
  std::ranges::stable_sort(heads, [](const HeadSlide& a, const HeadSlide& b) {
    return a.cross != b.cross ? a.cross : std::abs(a.change) > std::abs(b.change);
  });
  return heads;
}

// The slides: the sentence, a head each, tokens and rollout. A head matters if without it the loss changes by a tenth or
// more of what it does for any.
std::string slides_of(const nlohmann::json& found, const fs::path& page) {
  const std::string source = found["source_text"], target = found["target_text"];
  std::string slides = fmt::format(
      "<section class=\"title\"><h1>{}</h1><p>{}</p><small>{}, loss {:.3g}. Arrows and numbers "
      "turn "
      "the slides; the key a shows all heads, or those alone without which the loss changes most."
      "</small></section>\n",
      in_xml(source.empty() ? target : source), source.empty() ? "" : "→ " + in_xml(target),
      in_xml(found["title"].get<std::string>()),
      found["loss"].is_number() ? found["loss"].get<double>() : std::nan(""));
  const std::vector<HeadSlide> heads = heads_of(found);
  double most = 0;
  for (const HeadSlide& h : heads) most = std::max(most, std::abs(h.change));
  int count = 0;
  for (const HeadSlide& h : heads) {
    slides +=
        fmt::format("<section{}>\n<h2>{}: loss without it {:+.3g}</h2><div class=\"maps\">\n",
                    std::abs(h.change) < 0.1 * most ? " class=\"other\"" : "", h.title, h.change);
    for (const char* map : kMaps) slides += figure(page, h.name + "/" + map, map, count);
    slides += "</div><small>" + in_xml(h.name) + "</small></section>\n";
  }
  for (const char* name : {"tokens", "rollout"})
    if (fs::exists(page / (std::string(name) + ".svg")))
      slides +=
          "<section><div class=\"maps\">" + figure(page, name, name, count) + "</div></section>\n";
  return slides;
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
  const std::string glim = this_program();
  const bool pdf = std::system("pdflatex --version >/dev/null 2>&1") == 0;
  const std::string sheet = pdf ? "handout.tex" : "handout.html";
  printed_by(fmt::format("{} derive{} --format {} --out {}", glim, example, pdf ? "latex" : "html",
                         typed_word((folder / sheet).string())));
  if (pdf)
    printed_by("cd " + typed_word(folder.string()) +
               " && pdflatex -interaction=batchmode handout.tex");
  const fs::path page = folder / "page", data = page / "inspect.json";
  const std::string inspect = glim + " inspect" + example + " --out " + typed_word(page.string());
  printed_by(inspect + " --data --no-tensors");
  const auto found = nlohmann::json::parse(read_file(data.string(), "course handout"));
  fs::remove(data);
  std::string names;
  for (const HeadSlide& slide : heads_of(found))
    for (const char* map : kMaps) names += " " + typed_word(slide.name + "/" + map);
  if (!found["attribution"].is_null()) names += " tokens";
  if (found.contains("rollout")) names += " rollout";
  printed_by(inspect + " --overwrite" + (names.empty() ? "" : " --slides --svg" + names));
  write_file_atomically(
      (folder / "deck.html").string(),
      fmt::format(kDeck, in_xml(found["title"].get<std::string>()), slides_of(found, page)));
}

}  // namespace glim::course
