#include "tools/render/save_picture.hpp"

#include <fmt/format.h>

#include "tensor/io/atomic_file.hpp"
#include "tools/render/drawing.hpp"

namespace glim {

void save_picture(const std::string& svg, const std::string& path) {
  if (!path.ends_with(".png")) return write_file_atomically(path, std::string_view(svg));
  write_png(svg, path);
  static bool said = false;
  std::string missing = said ? "" : without_font(svg);
  if (missing.empty()) return;
  said = true;
  fmt::print(
      stderr,
      "glim: warning: {}: no font on this machine has {}, so they are boxes; Debian's package "
      "fonts-wqy-microhei has Chinese, Japanese and Korean\n",
      path, missing);
}

}  // namespace glim
