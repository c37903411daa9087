// Pictures of the verbs: each has a name, by which --svg and --png ask for it, and is drawn when it is written.
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

// The pictures that the patterns of --svg and --png ask for. Each has its file in `folder`. A pattern without a picture
// is an error of `verb`, as in matching_names.
struct PictureFile {
  std::string path;
  const Picture* picture;
};
std::vector<PictureFile> pictures_asked_for(const std::string& verb,
                                            const std::vector<Picture>& pictures,
                                            const std::vector<std::string>& svg,
                                            const std::vector<std::string>& png,
                                            const std::string& folder);

// The picture as PNG where the path ends so, else as SVG. FileError. On standard error, once: the
// characters that a PNG shows as boxes because no font of this machine has them.
void save_picture(const std::string& svg, const std::string& path);

}  // namespace glim
