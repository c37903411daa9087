// Pictures of the verbs as files.
#pragma once

#include <string>

namespace glim {

// The picture as PNG where the path ends so, else as SVG. FileError. On standard error, once: the
// characters that a PNG shows as boxes because no font of this machine has them.
void save_picture(const std::string& svg, const std::string& path);

}  // namespace glim
