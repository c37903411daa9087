#include "tools/render/save_picture.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

#include "tensor/io/atomic_file.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/output.hpp"
#include "tools/render/drawing.hpp"

namespace glim {

void list_pictures(const std::vector<Picture>& pictures) {
  print("pictures for --svg and --png:\n");
  for (const Picture& p : pictures) print("  " + p.name + "\n");
}

std::vector<PictureFile> pictures_asked_for(const std::string& verb,
                                            const std::vector<Picture>& pictures,
                                            const std::vector<std::string>& svg,
                                            const std::vector<std::string>& png,
                                            const std::string& folder) {
  std::vector<std::string> names;
  for (const Picture& p : pictures) names.push_back(p.name);
  std::vector<PictureFile> files;
  for (const auto& [patterns, ending] : {std::pair{&svg, ".svg"}, {&png, ".png"}})
    for (const std::string& pattern : *patterns)
      for (const std::string& name : matching_names(verb, "picture", pattern, names))
        files.push_back({(std::filesystem::path(folder) / (file_stem(name) + ending)).string(),
                         &*std::ranges::find(pictures, name, &Picture::name)});
  return files;
}

void save_picture(const std::string& svg, const std::string& path) {
  if (!path.ends_with(".png")) return write_file_atomically(path, std::string_view(svg));
  write_png(svg, path);
  static bool said = false;
  std::string missing = said ? "" : without_font(svg);
  if (missing.empty()) return;
  said = true;
  std::fputs(
      fmt::format(
          "glim: warning: {}: no font on this machine has {}, so they are boxes; Debian's package "
          "fonts-wqy-microhei has Chinese, Japanese and Korean\n",
          path, missing)
          .c_str(),
      stderr);
}

}  // namespace glim
