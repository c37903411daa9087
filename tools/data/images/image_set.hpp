// Labelled images of one size, as bytes. Readers of files make such sets, and the learner takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/image_model.hpp"

namespace glim {

struct ImageSet {
  std::string name;  // of the file or folder, for messages
  Index channels = 0, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // (N, C, H, W)
  std::vector<Index> labels;         // (N), numbers of classes; empty: not known
  std::vector<std::string> classes;  // their names
  std::vector<std::string> files;    // (N) where each image has a file of its own, else empty
  Index left_out = 0;                // files of a folder that are not PNG

  Index image_size() const { return channels * height * width; }
  Index size() const { return image_size() ? static_cast<Index>(pixels.size()) / image_size() : 0; }
};

// An empty set, for images of these sizes.
ImageSet no_images(const ImageSizes& sizes);

// The images at `rows` with pixels in [0, 1]: (B, C, H, W) float32.
Tensor images_at(const ImageSet& set, const std::vector<Index>& rows);

}  // namespace glim
