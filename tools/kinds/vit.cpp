// The kind `vit`: a Transformer that reads an image in patches (models/vit/vit.md).
#include "models/vit/vit.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "tensor/error.hpp"
#include "tools/common/counted.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/images.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

// ValueError unless the patches tile the image; it names a patch that does.
void require_tiles(const VitConfig& c) {
  Index common = std::gcd(c.height, c.width), fits = std::min<Index>(8, common);
  if (common % c.patch == 0) return;
  while (common % fits != 0) --fits;
  throw ValueError(
      "--patch",
      fmt::format("patches of {0} x {0} do not tile images of {1} x {2}; --patch {3} does", c.patch,
                  c.height, c.width, fits));
}

std::unique_ptr<ImageModel> build_vit(const TrainOptions& o, const ImageSizes& sizes) {
  auto c = o.config<VitConfig>();
  static_cast<ImageSizes&>(c) = sizes;
  require_tiles(c);
  return std::make_unique<Vit>(c);
}

VitConfig usual_vit() {
  VitConfig sizes;
  sizes.d_ff = 256;
  sizes.pooling = Pooling::Mean;
  return sizes;
}

}  // namespace

const Kind& vit_kind() {
  static const std::string settings = std::string(R"(
layers = 4
d-model = 64
heads = 4
d-ff = "4D"
positions = "learned"
)") + kImageSettings;
  static const Kind kind{
      .name = "vit",
      .sizes = usual_vit(),
      .options = words(kImageOptions),
      .usual = words(kUsualImageOptions),
      .tasks = words("files"),
      .settings = settings.c_str(),
      .example = words("image label paint"),
      .compared = "any two patches are a few ops apart; that an image has neighbours is learned.",
      .learner = [](const TrainOptions& o,
                    const ModelFile* init) { return make_image_learner(o, init, build_vit); },
      .read = [](Example& e, const ExampleOptions& o) { read_image(e, o, build_vit); },
      .least = [](const TrainOptions& o) { return least_of_layers(o, 0, 0); }};
  return kind;
}

}  // namespace glim
