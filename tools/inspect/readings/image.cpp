// An image and its class, of a vit. The image is a leaf of the tape, "image" (1, C, H, W), pixels in [0, 1]: so its
// pixels have gradients.
#include <charconv>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tools/data/images/idx.hpp"
#include "tools/data/images/png.hpp"
#include "tools/inspect/reading.hpp"
#include "tools/train/learners/images.hpp"

namespace glim {
namespace {

// (1, C, H, W); `name` is FILE.png, or FILE:N.
Tensor read_one(const std::string& name, const VitConfig& c) {
  ImageSet set;
  Index row = 0;
  std::size_t colon = name.rfind(':');
  if (name.ends_with(".png") || name.ends_with(".PNG")) {
    set.name = name;
    set.channels = c.channels;
    set.height = c.height;
    set.width = c.width;
    append_png(set, name);
  } else {
    const char* end = name.data() + name.size();
    auto digits = colon == name.npos ? end : name.data() + colon + 1;
    auto [stop, error] = std::from_chars(digits, end, row);
    if (digits == end || stop != end || error != std::errc() || row < 0)
      throw ValueError("--image", "takes FILE.png, or FILE:N for image N of an IDX file");
    set = read_idx_images(name.substr(0, colon), "");
    if (row >= set.size())
      throw ValueError("--image",
                       fmt::format("{} has the images 0 to {}", set.name, set.size() - 1));
  }
  require_size(set, c);
  return images_at(set, {row});
}

class ImageReading final : public Reading {
 public:
  explicit ImageReading(const ExampleOptions& options) {
    if (options.init)
      throw ValueError("--kind", "a fresh vit has no classes: train one, and give --model");
    loaded_ = load_vit(options.model);
    Vit& vit = *loaded_.model;
    if (options.float64) vit.to(DType::Float64);
    if (options.image.empty()) throw ValueError("--image", "a vit needs an image to look at");
    const VitConfig& c = vit.config();
    source_text = options.image;
    image_ = Var::leaf(read_one(options.image, c).to(vit.pixel_mean.dtype()), "image");
    if (c.pooling == ImagePooling::ClassToken) source.push_back("class");
    for (Index i = 0; i < c.height / c.patch; ++i)
      for (Index k = 0; k < c.width / c.patch; ++k)
        source.push_back(fmt::format("patch {},{}", i, k));
    NoGrad no_tape;
    asked_label(*this, options.label, loaded_.labels, vit(image_));
    label_smoothing = loaded_.label_smoothing;
  }

  Module& model() override { return *loaded_.model; }
  Var loss() override {
    return label_smoothing_loss((*loaded_.model)(image_), from_vector(target_out_ids, {1}),
                                label_smoothing, -1)
        .loss;
  }

 private:
  LoadedVit loaded_;
  Var image_;
};

}  // namespace

std::unique_ptr<Reading> read_image(const ExampleOptions& o) {
  return std::make_unique<ImageReading>(o);
}

}  // namespace glim
