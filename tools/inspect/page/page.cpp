#include "tools/inspect/page/page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/common/escape.hpp"
#include "tools/render/color.hpp"

namespace glim {

extern const std::string_view kD3Script, kPageFrame, kPageScript, kPageStyle;

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
  std::string styles(kPageStyle), scripts;
  for (std::string_view style : parts.styles) styles += style;
  auto add = [&](std::string_view text) {
    scripts.append("<script>\n").append(text).append("</script>\n");
  };
  add(kD3Script);
  add(palette_script());
  add(kPageScript);
  for (std::string_view text : parts.scripts) add(text);
  const std::string page =
      fmt::format(fmt::runtime(kPageFrame),
                  fmt::arg("webassembly", parts.webassembly ? " 'wasm-unsafe-eval'" : ""),
                  fmt::arg("title", in_xml(parts.title)), fmt::arg("styles", styles),
                  fmt::arg("body", parts.body), fmt::arg("data", in_script(parts.data)),
                  fmt::arg("scripts", scripts));
  if (parts.most_bytes > 0 && page.size() > parts.most_bytes)
    throw ValueError("page",
                     fmt::format("the page would have {:.1f} MB, more than the {:.1f} MB "
                                 "allowed; use {}",
                                 static_cast<double>(page.size()) / 1e6,
                                 static_cast<double>(parts.most_bytes) / 1e6, parts.advice));
  return page;
}

}  // namespace glim
