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
#include "tools/train/checkpoint.hpp"
#include "tools/train/learner.hpp"
#include "tools/train/learners/labels.hpp"

namespace glim {

// FileError unless the images are of this size.
void require_size(const ImageSet& set, const ImageSizes& sizes);
// A new model of the kind that the options name for images as those of the set. ValueError naming the option, and a
// value that fits, for patches that do not tile the image, and for an image that cannot be halved that often.
std::unique_ptr<ImageModel> new_image_model(const TrainOptions& options, const ImageSet& set,
                                            Index classes);
// Numbers of the model's labels for the set's own. FileError for a class that the model does not have.
std::vector<Index> label_numbers(const ImageSet& set, const Labels& labels);

std::unique_ptr<Learner> make_image_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
