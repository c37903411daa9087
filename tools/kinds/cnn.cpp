// The kind `cnn`: convolutions that halve an image (models/cnn/cnn.md).
#include "models/cnn/cnn.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tools/common/counted.hpp"
#include "tools/kinds/images.hpp"

namespace glim {
namespace {

void require_halvings(const CnnConfig& c) {
  if (c.kernel % 2 == 0)
    throw ValueError("--kernel", fmt::format("must be odd for images, not {}", c.kernel));
  if (const Index most = most_halvings(c); c.layers > most)
    throw ValueError(
        "--layers",
        fmt::format(
            "images of {} x {} are too small for {}, each of which halves them: {}", c.height,
            c.width, counted(c.layers, "layer"),
            most > 0 ? fmt::format("{} at most", most) : "--kind vit --patch 1 takes them"));
  if (c.kernel > std::min(c.height, c.width))
    throw ValueError("--kernel",
                     fmt::format("windows of {0} x {0} are larger than images of {1} x {2}",
                                 c.kernel, c.height, c.width));
}

std::unique_ptr<ImageModel> build_cnn(const TrainOptions& o, const ImageSizes& sizes) {
  auto c = o.config<CnnConfig>();
  static_cast<ImageSizes&>(c) = sizes;
  require_halvings(c);
  return std::make_unique<Cnn>(c);
}

CnnConfig usual_cnn() {
  CnnConfig sizes;
  sizes.d_model = 32;
  return sizes;
}

}  // namespace

const Kind& cnn_kind() {
  static const Kind kind = [] {
    Kind k = image_kind<build_cnn>("cnn", usual_cnn(), "layers = 3\nd-model = 32\n");
    k.compared = "a layer sees a few neighbours, and has one set of weights for all places.";
    k.learner = [](const TrainOptions& o, const ModelFile* init) {
      if (o.shards > 1)
        throw ValueError("--shards",
                         "--kind cnn normalises over whole batches: leave out --shards");
      return make_image_learner(o, init, build_cnn);
    };
    k.least = [](const TrainOptions& o) {
      const auto& sizes = o.config<CnnConfig>();
      const auto d = static_cast<double>(sizes.d_model), width = static_cast<double>(sizes.kernel);
      const auto layers = static_cast<double>(sizes.layers);
      return Least{.parameters = (layers - 1) * width * width * d * d, .layers = layers};
    };
    return k;
  }();
  return kind;
}

}  // namespace glim
