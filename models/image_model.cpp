#include "models/image_model.hpp"

#include "tensor/error.hpp"

namespace glim {
namespace {

const ImageSizes& checked(const std::string& kind, const ImageSizes& s) {
  if (s.channels < 1 || s.height < 1 || s.width < 1)
    throw ValueError(kind, "an image has no pixels");
  if (s.classes < 2) throw ValueError(kind, "there must be at least two classes");
  return s;
}

}  // namespace

Rows ImageSizes::rows() {
  return {{"channels", &channels}, {"height", &height}, {"width", &width}, {"classes", &classes}};
}

ImageModel::ImageModel(const std::string& kind, std::string described, const ImageSizes& sizes)
    : kind_(kind), described_(std::move(described)), sizes_(checked(kind, sizes)) {}

Var ImageModel::forward(const Var& images) {
  const ImageSizes& s = sizes_;
  if (images.rank() != 4 || images.size(1) != s.channels || images.size(2) != s.height ||
      images.size(3) != s.width)
    throw ShapeError(kind_,
                     "images must be (B, " + std::to_string(s.channels) + ", " +
                         std::to_string(s.height) + ", " + std::to_string(s.width) + ")",
                     {{"images", images}});
  Shape along{s.channels, 1, 1};
  Var centered = images - reshape(pixel_mean.to(images.dtype()), along);
  return classify(centered / reshape(pixel_deviation.to(images.dtype()), along));
}

}  // namespace glim
