// An image and its class, of a vit or a cnn. The image is a leaf of the tape, "image" (1, C, H, W), pixels in [0, 1]: so its
// pixels have gradients. "3,4=0.5" paints one before. A fresh model has the size of the image and the classes 0 to 9.
#include <algorithm>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/common/number.hpp"
#include "tools/data/images/idx.hpp"
#include "tools/data/images/png.hpp"
#include "tools/kinds/example.hpp"
#include "tools/kinds/images.hpp"

namespace glim {
namespace {

// A white stroke on black, as MNIST has a 1.
ImageSet drawn_one() {
  ImageSet set = no_images({1, 28, 28});
  set.files = {""};
  for (Index i = 0; i < set.image_size(); ++i) {
    const Index row = i / set.width, column = i % set.width;
    set.pixels.push_back(row >= 4 && row < 24 && column >= 12 && column < 16 ? 255 : 0);
  }
  return set;
}

// FILE.png, or FILE:N of an IDX file: that image, and of an IDX file those that follow it, ten in all. Of a trained
// model's size, or of their own.
ImageSet read_images(const std::string& name, const ImageSizes* trained) {
  if (name.ends_with(".png") || name.ends_with(".PNG")) {
    const PngHeader its = read_png_header(name);
    ImageSet set =
        no_images(trained ? *trained : ImageSizes{its.color ? 3 : 1, its.height, its.width});
    set.name = name;
    append_png(set, name);
    set.files = {name};
    return set;
  }
  const std::size_t colon = name.rfind(':');
  const Index row = colon == name.npos ? -1 : number_in<Index>(name.substr(colon + 1)).value_or(-1);
  if (row < 0) throw ValueError("--image", "takes FILE.png, or FILE:N for image N of an IDX file");
  ImageSet all = read_idx_images(name.substr(0, colon), "");
  if (row >= all.size())
    throw ValueError("--image", fmt::format("{} has the images 0 to {}", all.name, all.size() - 1));
  if (trained) require_size(all, *trained);
  const Index last = std::min(row + 10, all.size());
  const auto pixels = all.pixels.begin();
  all.pixels = {pixels + row * all.image_size(), pixels + last * all.image_size()};
  for (Index i = row; i < last; ++i) all.files.push_back(fmt::format("{}:{}", all.name, i));
  return all;
}

ImageSet images_of(const ExampleOptions& o, const ImageSizes* trained) {
  if (o.pixels.empty()) {
    if (!o.image.empty()) return read_images(o.image, trained);
    if (trained) throw ValueError("--image", "a model of images needs one to look at");
    return drawn_one();
  }
  if (o.size.size() != 3) throw ValueError("--size", "is (channels, height, width)");
  ImageSet set = no_images({o.size[0], o.size[1], o.size[2]});
  set.pixels = o.pixels;
  if (std::ssize(set.pixels) != set.image_size() || set.image_size() == 0)
    throw ValueError("--image",
                     fmt::format("{} pixels are no image of this size", o.pixels.size()));
  if (trained) require_size(set, *trained);
  return set;
}

ImageClassifier fresh_classifier_of(const ImageSet& images, const TrainOptions& o,
                                    BuildImageModel* build) {
  seed(static_cast<std::uint64_t>(o.seed));
  std::vector<std::string> digits;
  for (Index i = 0; i < ImageSizes{}.classes; ++i) digits.push_back(std::to_string(i));
  return {Labels::of(digits, "--labels"), build(o, sizes_of(images, std::ssize(digits)))};
}

// "ROW,COLUMN=VALUE" or "CHANNEL,ROW,COLUMN=VALUE" into image (1, C, H, W).
void paint(const Tensor& image, const std::string& text) {
  const std::size_t equals = text.find('=');
  std::string part = text.substr(0, equals);
  const double value =
      number_in<double>(equals == text.npos ? "" : text.substr(equals + 1)).value_or(-1);
  const auto commas = std::ranges::count(part, ',');
  if (commas < 1 || commas > 2 || !(value >= 0 && value <= 1))
    throw ValueError("--paint", "'" + text +
                                    "' is not of the form ROW,COLUMN=VALUE or "
                                    "CHANNEL,ROW,COLUMN=VALUE, with numbers from 0 on or *, and a "
                                    "value from 0 to 1");
  std::ranges::replace(part, '*', ':');
  try {
    part_of(image, (commas == 1 ? "0,:," : "0,") + part).fill_(value);
  } catch (const Error& e) {
    throw ValueError("--paint", "'" + text + "': " + e.problem());
  }
}

}  // namespace

void read_image(Example& e, const ExampleOptions& options, BuildImageModel* build) {
  std::optional<ImageClassifier> loaded;
  e.label_smoothing = options.fresh.label_smoothing;
  if (!options.init) {
    const ModelFile file = read_model(options.model);
    loaded.emplace(file);
    e.label_smoothing = trained_options(file).label_smoothing;
  }
  e.images = images_of(options, options.init ? nullptr : &loaded->model()->sizes());
  if (options.init) loaded.emplace(fresh_classifier_of(e.images, options.fresh, build));
  const std::shared_ptr<ImageModel> model = loaded->model();
  if (options.float64) model->to(DType::Float64);
  e.source_text = options.image.empty() ? "a drawn 1" : options.image;
  Tensor pixels = images_at(e.images, {0}).to(model->pixel_mean.dtype());
  for (const std::string& text : options.paint) paint(pixels, text);
  e.source = model->tokens();
  e.module = model;
  e.logits = [model, image = Var::leaf(pixels, "image")] { return (*model)(image); };
  ask_label(e, options, loaded->labels());
}

}  // namespace glim
