#include "tools/render/pictures_asked.hpp"

#include <algorithm>
#include <filesystem>

#include "tools/common/nearest.hpp"
#include "tools/common/output.hpp"

namespace glim {

void list_pictures(const std::vector<Picture>& pictures) {
  print("pictures for --svg:\n");
  for (const Picture& p : pictures) print("  " + p.name + "\n");
}

std::vector<PictureFile> pictures_asked_for(const std::string& verb,
                                            const std::vector<Picture>& pictures,
                                            const std::vector<std::string>& patterns,
                                            const std::string& folder) {
  std::vector<std::string> names;
  for (const Picture& p : pictures) names.push_back(p.name);
  std::vector<PictureFile> files;
  for (const std::string& pattern : patterns)
    for (const std::string& name : matching_names(verb, "picture", pattern, names))
      files.push_back({(std::filesystem::path(folder) / (file_stem(name) + ".svg")).string(),
                       &*std::ranges::find(pictures, name, &Picture::name)});
  return files;
}

}  // namespace glim
