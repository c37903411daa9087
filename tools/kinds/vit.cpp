// The kind `vit`: a Transformer that reads an image in patches (models/vit/vit.md).
#include "models/vit/vit.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "tensor/error.hpp"
#include "tools/kinds/images.hpp"

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
  static const Kind kind = [] {
    Kind k = image_kind<build_vit>("vit", usual_vit(), R"(
layers = 4
d-model = 64
heads = 4
d-ff = "4D"
positions = "learned"
)");
    k.compared = "any two patches are a few ops apart; that an image has neighbours is learned.";
    return k;
  }();
  return kind;
}

}  // namespace glim
