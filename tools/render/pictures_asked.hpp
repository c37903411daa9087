// Pictures of the verbs: each has a name, by which --svg asks for it, and is drawn when it is written.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace glim {

struct Picture {
  std::string name;
  std::function<std::string()> svg;
};

// Prints the names, for --list-pictures.
void list_pictures(const std::vector<Picture>& pictures);

// The pictures that the patterns of --svg ask for. Each has its file in `folder`. A pattern without a picture
// is an error of `verb`, as in matching_names.
struct PictureFile {
  std::string path;
  const Picture* picture;
};
std::vector<PictureFile> pictures_asked_for(const std::string& verb,
                                            const std::vector<Picture>& pictures,
                                            const std::vector<std::string>& patterns,
                                            const std::string& folder);

}  // namespace glim
