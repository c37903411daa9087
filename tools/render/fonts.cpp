// The fonts of this machine, by fontconfig, which librsvg asks as well.

#include <fontconfig/fontconfig.h>
#include <memory>
#include <set>

#include "models/tokenizers/utf8.hpp"
#include "tools/render/drawing.hpp"

namespace glim {

std::string without_font(std::string_view text) {
  std::unique_ptr<FcCharSet, void (*)(FcCharSet*)> known(FcCharSetCreate(), FcCharSetDestroy);
  std::unique_ptr<FcConfig, void (*)(FcConfig*)> config(FcInitLoadConfigAndFonts(),
                                                        FcConfigDestroy);
  const FcFontSet* fonts = FcConfigGetFonts(config.get(), FcSetSystem);
  for (int i = 0; fonts && i < fonts->nfont; ++i) {
    FcCharSet* has = nullptr;
    if (FcPatternGetCharSet(fonts->fonts[i], FC_CHARSET, 0, &has) == FcResultMatch)
      FcCharSetMerge(known.get(), has, nullptr);
  }
  std::string missing;
  std::set<std::uint32_t> seen;
  for (const CodePoint& c : code_points(text))
    if (c.value > 0xff && !FcCharSetHasChar(known.get(), c.value) && seen.insert(c.value).second)
      append_utf8(missing, c.value);
  return missing;
}

}  // namespace glim
