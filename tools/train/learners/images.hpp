// Learning to classify images: the kind `vit` (models/vit/vit.hpp), from IDX files or folders of PNGs.
//
//   loss = Σ KL(q ‖ p) over the images, q the label, smoothed
//
// Training images are moved a little each time they are seen (tools/data/images/augment.hpp); pixels are
// brought to mean 0 and deviation 1 by the training images' own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/vit/vit.hpp"
#include "tools/data/images/image_set.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/learner.hpp"
#include "tools/train/learners/labels.hpp"

namespace glim {

// A model ready to classify with, in eval().
struct LoadedVit {
  Labels labels;
  std::unique_ptr<Vit> model;
};
// FileError naming the file, also for a model of another kind.
LoadedVit load_vit(const std::string& path);

// One for each of these images, which are of the model's size (FileError otherwise).
std::vector<Classified> classify(const LoadedVit& vit, const ImageSet& set,
                                 const std::vector<Index>& rows);
// Numbers of the model's labels for the set's own. FileError for a class that the model has not.
std::vector<Index> label_numbers(const ImageSet& set, const Labels& labels);

class ImageLearner final : public Learner {
 public:
  ImageLearner(const TrainOptions& options, const Checkpoint* from);

  Module& model() override { return *model_; }
  std::string kind() const override { return "vit"; }
  std::map<std::string, std::string> description() const override;
  std::string fingerprint() const override;
  std::vector<std::string> summary() const override;
  Index begin(Split split, Index epoch) override;
  BatchSize size(Split split, Index batch) const override;
  Var loss(Split split, Index batch, Index /*step*/, Measures& sums) override {
    return images_loss(split, rows_of(split, batch), sums);
  }
  Var probe(Index i) override;
  double criterion(const Measures& m) const override { return 1 - m.accuracy(); }
  std::string describe(const Measures& m) const override;
  std::string demonstrate(const std::string& folder) override;

 private:
  struct Part {
    std::shared_ptr<const ImageSet> set;
    std::vector<Index> numbers;  // of the labels of the whole set
    std::vector<Index> rows;     // the images of the set that belong to this part
    std::vector<Index> order;    // of the epoch
  };
  Var images_loss(Split split, const std::vector<Index>& rows, Measures& sums);
  void read_images();
  void measure_pixels();
  const Part& part(Split split) const { return split == Split::Train ? train_ : valid_; }
  std::vector<Index> rows_of(Split split, Index batch) const;

  TrainOptions options_;
  Part train_, valid_;
  Labels labels_;
  std::unique_ptr<Vit> model_;
};

std::unique_ptr<Learner> make_image_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
