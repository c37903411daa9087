#include "tools/inspect/page/page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/render/color.hpp"
#include "tools/render/svg.hpp"

namespace glim {

extern const std::string_view kD3Script, kPageScript, kPageStyle;

namespace {

constexpr int kColors = 257;  // of each scale; odd, so that 0 is the middle one

std::string palette_script() {
  auto scale = [](bool diverging) {
    std::vector<std::string> colors;
    for (int i = 0; i < kColors; ++i) colors.push_back(color(i / (kColors - 1.0), diverging));
    return colors;
  };
  const nlohmann::json palette = {{"diverging", scale(true)}, {"sequential", scale(false)}};
  return "const palette = " + palette.dump() + ";\n";
}

}  // namespace

std::string html_page(const PageParts& parts) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'";
  if (parts.webassembly) page += " 'wasm-unsafe-eval'";
  page +=
      "; img-src data: blob:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  page += "<title>" + xml_escaped(parts.title) + "</title>\n<style>\n";
  page += kPageStyle;
  for (std::string_view style : parts.styles) page += style;
  page += "</style>\n</head>\n<body>\n<main>\n" + parts.body + "\n</main>\n";
  page += "<script type=\"application/json\" id=\"data\">";
  // Within a script element only "<" can end it: JSON may write it as an escape.
  for (char c : parts.data) {
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  }
  page += "</script>\n";
  auto script = [&](std::string_view text) {
    page += "<script>\n";
    page += text;
    page += "</script>\n";
  };
  script(kD3Script);
  script(palette_script());
  script(kPageScript);
  for (std::string_view text : parts.scripts) script(text);
  page += "</body>\n</html>\n";
  if (parts.most_bytes > 0 && page.size() > parts.most_bytes)
    throw ValueError("page",
                     fmt::format("the page would have {:.1f} MB, more than the {:.1f} MB "
                                 "allowed; use {}",
                                 static_cast<double>(page.size()) / 1e6,
                                 static_cast<double>(parts.most_bytes) / 1e6, parts.advice));
  return page;
}

}  // namespace glim
