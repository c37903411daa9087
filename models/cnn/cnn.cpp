#include "models/cnn/cnn.hpp"

#include <algorithm>
#include <bit>

#include "models/size_rows.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

const CnnConfig& checked(const CnnConfig& c) {
  auto fail = [](const std::string& problem) { throw ValueError("cnn", problem); };
  if (c.d_model < 1 || c.layers < 1) fail("d_model and layers must be positive");
  if (c.kernel < 1 || c.kernel % 2 == 0)
    fail("the kernel must be odd, not " + std::to_string(c.kernel));
  if (c.kernel > std::min(c.height, c.width))
    fail("a kernel of " + std::to_string(c.kernel) + " is larger than images of " +
         std::to_string(c.height) + " x " + std::to_string(c.width));
  if (c.layers > most_halvings(c))
    fail("images of " + std::to_string(c.height) + " x " + std::to_string(c.width) +
         " are too small for " + std::to_string(c.layers) + " layers, each of which halves them");
  return c;
}

}  // namespace

Index most_halvings(const ImageSizes& s) {
  return std::bit_width(static_cast<std::uint64_t>(std::min(s.height, s.width))) - 1;
}

CnnLayer::CnnLayer(Index in, Index out, Index kernel)
    : GLIM_NAMED(conv, in, out, kernel, Conv2dOptions{.padding = kernel / 2, .bias = false}),
      GLIM_NAMED(norm, out),
      GLIM_NAMED(pool, Pool::Max, 2) {}

Rows CnnConfig::rows() {
  return concatenated(ImageSizes::rows(), {size_rows::layers(layers), size_rows::d_model(d_model),
                                           size_rows::kernel(kernel), size_rows::dropout(dropout)});
}

Cnn::Cnn(const CnnConfig& c)
    : ImageModel("cnn", c),
      config_(checked(c)),
      GLIM_NAMED(layers),
      GLIM_NAMED(dropout, c.dropout),
      GLIM_NAMED(head, c.d_model, c.classes) {
  for (Index i = 0; i < c.layers; ++i)
    layers.append(i == 0 ? c.channels : c.d_model, c.d_model, c.kernel);
}

Var Cnn::classify(const Var& pixels) {
  Var h = pixels;
  for (CnnLayer& layer : layers) h = layer(h);
  return head(dropout(mean(h, {2, 3})));  // (B, D, ·, ·) -> (B, D)
}

}  // namespace glim
