// Texts, a line of hexadecimal digits each, in every language: what tests/tools/common/escape.py reads back. Prints JSON:
// by language one result for each text, or one file that has them all.
#include <iostream>
#include <nlohmann/json.hpp>

#include "autograd/observe/tape_table.hpp"
#include "autograd/ops.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tools/common/escape.hpp"
#include "tools/course/exercise.hpp"
#include "tools/course/report.hpp"
#include "tools/derive/sheet.hpp"
#include "tools/inspect/page/page.hpp"
#include "tools/render/svg.hpp"

using namespace glim;

namespace {

// All texts in one file of each kind.
nlohmann::json files_of(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  Svg svg(100, 100, all);
  std::vector<course::Verdict> verdicts;
  auto data = nlohmann::json::array();
  Tape tape({.replay = true});
  Var loss = sum(Var::leaf(ones({2}, DType::Float64), "x"));
  for (const std::string& text : texts) {
    svg.text(0, 0, text, kFont, Anchor::Start);
    verdicts.push_back({&course::exercises()[0], course::State::Wrong, "f", text});
    data.push_back(text);
    loss = loss + sum(Var::leaf(ones({2}, DType::Float64), text));
  }
  using Handler = nlohmann::json::error_handler_t;
  PageParts page;
  page.title = all;
  page.data = data.dump(-1, ' ', false, Handler::replace);
  const std::string dot = to_dot(tape);
  const derive::Listing listing(derive::trace_of(Pass(tape, loss)));
  derive::Sheet sheet;
  sheet.title = all;
  sheet.notes = texts;
  const derive::ProgramText names{all, all, "data.npz"};
  return {{"svg", svg.finish()},
          {"junit", course::to_junit(verdicts)},
          {"page", html_page(page)},
          {"numpy", derive::numpy_program(listing, {}, names)},
          {"cpp", derive::cpp_program(listing, {}, names)},
          {"html", derive::document_of(sheet, derive::kHtml)},
          {"latex", derive::document_of(sheet, derive::kLatex)},
          {"markdown", derive::document_of(sheet, derive::kMarkdown)},
          {"dot", with_invalid_utf8_replaced(dot)}};
}

}  // namespace

int main() {
  std::vector<std::string> texts;
  for (std::string line; std::getline(std::cin, line);) {
    std::string text;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      text += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    texts.push_back(text);
  }
  nlohmann::json all = {{"files", files_of(texts)}};
  for (const std::string& text : texts) {
    using Handler = nlohmann::json::error_handler_t;
    const std::string json = nlohmann::json(text).dump(-1, ' ', false, Handler::replace);
    std::string shell;  // its bytes may be no UTF-8
    for (const unsigned char c : shell_word(text)) append_utf8(shell, c);
    for (const auto& [language, is] : {std::pair{"visible", visible(text)},
                                       {"python", in_python(text)},
                                       {"cpp", in_cpp(text)},
                                       {"cpp_comment", in_cpp_comment(text)},
                                       {"xml", in_xml(text)},
                                       {"script", in_script(json)},
                                       {"toml", in_toml(json)},
                                       {"markdown", in_markdown(text)},
                                       {"latex", in_latex(text)},
                                       {"csv", in_csv(text)},
                                       {"shell", shell},
                                       {"typed", typed_word(text)}})
      all[language].push_back(is);
  }
  std::cout << all.dump() << "\n";  // throws for what is not UTF-8
}
