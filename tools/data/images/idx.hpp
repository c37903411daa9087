// IDX files, the format of MNIST (LeCun et al. 1998), plain or gzipped:
//
//   0 0 type rank, then `rank` big-endian 32-bit extents, then the elements, row-major
//
// Elements are bytes here (type 8): images (N, H, W), labels (N).
//
// Errors: FileError naming the file if it is missing, damaged, truncated, longer than its header
// says, of another type or rank; ValueError where images and labels differ in number.
#pragma once

#include <string>
#include <vector>

#include "tools/data/images/image_set.hpp"

namespace glim {

struct IdxFile {
  std::vector<Index> extents;
  std::vector<std::uint8_t> values;
};
IdxFile read_idx(const std::string& path);

// One channel; with labels unless the path is empty: classes "0", "1", ... up to the largest label.
ImageSet read_idx_images(const std::string& images, const std::string& labels);

}  // namespace glim
