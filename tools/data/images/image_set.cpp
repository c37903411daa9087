#include "tools/data/images/image_set.hpp"

namespace glim {

ImageSet no_images(const ImageSizes& sizes) {
  ImageSet set;
  set.channels = sizes.channels;
  set.height = sizes.height;
  set.width = sizes.width;
  return set;
}

Tensor images_at(const ImageSet& set, const std::vector<Index>& rows) {
  Tensor x = empty({static_cast<Index>(rows.size()), set.channels, set.height, set.width});
  float* values = x.data<float>();
  for (Index r : rows) {
    const std::uint8_t* bytes = set.pixels.data() + r * set.image_size();
    for (Index i = 0; i < set.image_size(); ++i) *values++ = static_cast<float>(bytes[i]) / 255;
  }
  return x;
}

}  // namespace glim
