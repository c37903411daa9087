// Learning to classify images: the kinds `vit` (models/vit/vit.hpp) and `cnn` (models/cnn/cnn.hpp), from IDX files or
// folders of PNGs.
//
//   loss = Σ KL(q ‖ p) over the images, q the label, smoothed
//
// Training images are moved a little each time they are seen (tools/data/images/augment.hpp). Pixels are
// scaled to mean 0 and deviation 1 over the training images.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/pipeline/classifier.hpp"
#include "tools/data/images/image_set.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/labels.hpp"

namespace glim {

// FileError unless the images are of this size.
void require_size(const ImageSet& set, const ImageSizes& sizes);
// Numbers of the model's labels for the set's own. FileError for a class that the model does not have.
std::vector<Index> label_numbers(const ImageSet& set, const Labels& labels);

// A new model of a kind for images of these sizes. ValueError naming the option.
using BuildImageModel = std::unique_ptr<ImageModel>(const TrainOptions& options,
                                                    const ImageSizes& sizes);
ImageSizes sizes_of(const ImageSet& set, Index classes);
std::unique_ptr<Learner> make_image_learner(const TrainOptions& options, const ModelFile* init,
                                            BuildImageModel* build);

// An image and its class, to look at.
void read_image(Example& example, const ExampleOptions& options, BuildImageModel* build);

// Settings that the kinds share.
inline constexpr const char* kImageSettings = R"(
epochs = 30
batch-tokens = 0
batch-sentences = 64
optimizer = "adamw"
weight-decay = 0.01
schedule = "cosine"
rate = 2e-3
warmup = 200
)";

// A kind of this family: a class for an image.
template <BuildImageModel* build>
Kind image_kind(std::string name, ModelSizes sizes, std::string settings) {
  return {
      .name = std::move(name),
      .sizes = std::move(sizes),
      .options = words("images labels valid_images valid_labels image_folder valid_image_folder "
                       "train_first valid_last shift rotation"),
      .usual = words("kind images labels image_folder layers d_model patch epochs rate out"),
      .tasks = words("files"),
      .settings = std::move(settings) + kImageSettings,
      .example = words("image label paint"),
      .learner = [](const TrainOptions& o,
                    const ModelFile* init) { return make_image_learner(o, init, build); },
      .read = [](Example& e, const ExampleOptions& o) { read_image(e, o, build); },
      .least = [](const TrainOptions& o) { return least_of_layers(o, 0, 0); }};
}

}  // namespace glim
