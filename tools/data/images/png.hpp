// PNG images through libpng: any PNG becomes bytes of grey or of red, green and blue
// (sRGB), the same for every encoding of a picture: 1 to 16 bits, palette, interlaced. A pixel's bytes are
// multiplied by its opacity. A set of images has one folder for each class.
//
// Errors: FileError naming a file that is missing, not PNG, damaged, or not of the size of the others, or a
// folder that is empty.
#pragma once

#include <string>

#include "tools/data/images/image_set.hpp"

namespace glim {

struct PngHeader {
  Index height = 0, width = 0;
  bool color = false;
};
PngHeader read_png_header(const std::string& path);
// Appends the image to set.pixels, in set.channels (1 or 3) planes of set.height x set.width.
void append_png(ImageSet& set, const std::string& path);

// The images of the folders in `path`, DIR/CLASS/*.png. Classes are the folders' names in order of
// bytes; images alternate between the classes (the first of each, the second of each, ...), so that
// any first or last part of them is balanced. Three channels where an image has colour, unless
// `like` says: then size, channels and classes are its own, and may not differ.
ImageSet read_png_folders(const std::string& path, const ImageSet* like = nullptr);

}  // namespace glim
