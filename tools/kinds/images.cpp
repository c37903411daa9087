#include "tools/kinds/images.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "models/pipeline/described.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/data/images/augment.hpp"
#include "tools/data/images/idx.hpp"
#include "tools/data/images/png.hpp"
#include "tools/kinds/fingerprint.hpp"

namespace glim {
namespace {

void check_images(const TrainOptions& o) {
  auto fail = [](const char* option, const std::string& problem) {
    throw ValueError(std::string("--") + option, problem);
  };
  bool folder = !o.image_folder.empty();
  if (folder && !(o.images.empty() && o.labels.empty()))
    fail("image-folder", "contradicts --images and --labels: its folders are the labels");
  if (!folder && (o.images.empty() || o.labels.empty()))
    fail(o.images.empty() ? "images" : "labels",
         "is needed, an IDX file (or --image-folder, with a folder of PNG files for each class)");
  if (o.task != "files")
    fail("task", "--kind " + o.kind + " learns from images alone: leave out --task");
  if (folder && !(o.valid_images.empty() && o.valid_labels.empty()))
    fail("valid-images", "goes with --images; --valid-image-folder goes with --image-folder");
  if (!folder && !o.valid_image_folder.empty())
    fail("valid-image-folder", "goes with --image-folder; --valid-images goes with --images");
  if (o.valid_images.empty() != o.valid_labels.empty())
    fail(o.valid_images.empty() ? "valid-images" : "valid-labels",
         "is needed with the other validation file");
  bool validates = !o.valid_images.empty() || !o.valid_image_folder.empty();
  if (o.valid_share > 0 && o.valid_last > 0)
    fail("valid-last", "and --valid-share both take images to validate on: give one of them");
  if (validates && o.valid_last > 0)
    fail("valid-last",
         "takes validation images from the training files, but other validation files are given");
  if (o.batch_tokens != 0)
    fail("batch-tokens", "counts tokens; the images of a batch are --batch-sentences");
}

}  // namespace

void require_size(const ImageSet& set, const ImageSizes& c) {
  if (set.channels != c.channels || set.height != c.height || set.width != c.width)
    throw FileError(set.name,
                    fmt::format("holds images of {} x {} with {} channel{}; the model "
                                "needs {} x {} with {}",
                                set.height, set.width, set.channels, set.channels > 1 ? "s" : "",
                                c.height, c.width, c.channels));
}

std::vector<Index> label_numbers(const ImageSet& set, const Labels& labels) {
  std::vector<Index> numbers;
  for (std::size_t i = 0; i < set.labels.size(); ++i)
    numbers.push_back(labels.number(set.classes[static_cast<std::size_t>(set.labels[i])],
                                    fmt::format("{}: image {}", set.name, i + 1)));
  return numbers;
}

// Labels number the classes from 0, each with an image: one far beyond the others is a fault of the
// file, not a class.
void require_every_class(const ImageSet& set) {
  std::vector<std::size_t> first(set.classes.size(), set.labels.size());
  for (std::size_t i = set.labels.size(); i-- > 0;)
    first[static_cast<std::size_t>(set.labels[i])] = i;
  for (std::size_t c = 0; c < first.size(); ++c)
    if (first[c] == set.labels.size())
      throw FileError(set.name, fmt::format("image {} has label '{}', yet none has '{}': labels "
                                            "number the classes from 0 without a gap",
                                            first.back() + 1, set.classes.back(), set.classes[c]));
}

namespace {

class ImageLearner final : public Learner {
 public:
  ImageLearner(const TrainOptions& o, const ModelFile* init, BuildImageModel* build) : Learner(o) {
    check_images(o);
    read_images();
    choose_by_amount(std::ssize(train_.rows));
    if (init) {
      DescribedImageModel d = described_image_model(*init);
      model_ = std::move(d.model);
      labels_ = d.labels;
    } else {
      require_every_class(*train_.set);
      labels_ = Labels::of(train_.set->classes, train_.set->name);
      model_ = build(o, sizes_of(*train_.set, labels_.size()));
    }
    for (Part* p : {&train_, &valid_})
      if (p->set) {
        require_size(*p->set, model_->sizes());
        p->numbers = label_numbers(*p->set, labels_);
      }
    measure_pixels();
  }

  Module& model() override { return *model_; }
  std::map<std::string, std::string> description() const override {
    return {{"model", model_->described_sizes()}, {"labels", labels_.to_json()}};
  }

  std::string fingerprint() const override {
    Fingerprint f;
    Index size = train_.set->image_size();
    for (Index r : train_.rows) {
      const std::uint8_t* p = train_.set->pixels.data() + r * size;
      for (Index i = 0; i < size; ++i) f.mix(p[i]);
      f.mix(train_.numbers[static_cast<std::size_t>(r)]);
    }
    return f.text();
  }

  std::vector<std::string> summary() const override {
    const ImageSet& set = *train_.set;
    std::vector<std::string> lines{fmt::format(
        "data: {} training images, {} validation; {} x {} pixels, {} channel{}; {} classes: {}",
        train_.rows.size(), valid_.rows.size(), set.height, set.width, set.channels,
        set.channels > 1 ? "s" : "", labels_.size(), labels_.list())};
    add_choices(lines);
    if (set.left_out > 0)
      lines.push_back(fmt::format("  left out: {}, not PNG", counted(set.left_out, "file")));
    if (const std::string about = model_->about_tokens(); !about.empty())
      lines.push_back("  " + about);
    return lines;
  }

  double criterion(const Measures& m) const override { return class_criterion(m); }
  std::string describe(const Measures& m) const override {
    return fmt::format("NLL {:.4f}  accuracy {:.4f}", m.nll, m.accuracy());
  }

  std::map<Index, Index> target_counts() const override {
    std::map<Index, Index> counts;
    for (Index r : train_.rows) ++counts[train_.numbers[static_cast<std::size_t>(r)]];
    return counts;
  }

  std::string demonstrate(const std::string& folder) override {
    if (valid_.rows.empty()) return "";
    const ImageClassifier best(folder);
    std::map<std::pair<Index, Index>, Index> confused;  // (truth, found)
    Index right = 0, count = static_cast<Index>(valid_.rows.size());
    for (Index i = 0; i < count; i += 256) {
      std::vector<Index> rows(valid_.rows.begin() + i,
                              valid_.rows.begin() + std::min(count, i + 256));
      auto found = best.classify(images_at(*valid_.set, rows));
      for (std::size_t k = 0; k < rows.size(); ++k) {
        Index truth = valid_.numbers[static_cast<std::size_t>(rows[k])];
        if (found[k].label == truth)
          ++right;
        else
          ++confused[{truth, found[k].label}];
      }
    }
    std::string text =
        fmt::format("\nvalidation images, never trained on: {} of {} right = {:.2f} %\n", right,
                    count, 100 * static_cast<double>(right) / static_cast<double>(count));
    std::vector<std::pair<Index, std::pair<Index, Index>>> most;
    for (auto& [pair, times] : confused) most.push_back({-times, pair});
    std::sort(most.begin(), most.end());
    if (most.size() > 5) most.resize(5);
    for (auto& [times, pair] : most)
      text += fmt::format("  {} taken for {}: {}\n", labels_.name(pair.first),
                          labels_.name(pair.second), -times);
    return text + "\n";
  }

 private:
  struct Part {
    std::shared_ptr<const ImageSet> set;
    std::vector<Index> numbers;  // of the labels of the whole set
    std::vector<Index> rows;     // the images of the set that belong to this part
  };
  Index probe_count(Split split) const override { return std::ssize(part(split).rows); }

  // Rows are places in Part::rows.
  std::vector<Rows> draw(Split split, Index epoch) const override {
    const Index count = probe_count(split);
    Rows order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    if (split == Split::Train)
      order = permutation(count, {static_cast<std::uint64_t>(options_.seed) ^ 0x696d61676573,
                                  static_cast<std::uint64_t>(epoch)})
                  .to_vector<Index>();
    return in_batches(order, options_.batch_sentences);
  }

  TrainingSample sample(Index row) const override {
    const ImageSet& set = *train_.set;
    const Index image = train_.rows[static_cast<std::size_t>(row)];
    const auto index = static_cast<std::size_t>(image);
    return {.label = labels_.name(train_.numbers[index]),
            .image = set.files.empty() ? fmt::format("{}:{}", options_.images, image)
                                       : set.files[index]};
  }

  MeasuredLoss rows_loss(Split split, const Rows& rows, Index /*step*/) override {
    const Part& p = part(split);
    Rows indices, numbers;
    for (Index row : rows) {
      indices.push_back(p.rows[static_cast<std::size_t>(row)]);
      numbers.push_back(p.numbers[static_cast<std::size_t>(indices.back())]);
    }
    Tensor images = images_at(*p.set, indices);
    Augmentation movement{options_.shift, options_.rotation};
    if (split == Split::Train && model_->training() && movement.any())
      images = augment(images, movement, generator().next());
    Var logits = (*model_)(Var(images.to(model_->pixel_mean.dtype())));  // (B, classes)
    return classes_loss(logits, from_vector(numbers, {std::ssize(numbers)}),
                        options_.label_smoothing, -1);
  }

  void read_images() {
    const TrainOptions& o = options_;
    bool folder = !o.image_folder.empty();
    auto all = std::make_shared<const ImageSet>(folder ? read_png_folders(o.image_folder)
                                                       : read_idx_images(o.images, o.labels));
    train_.set = all;
    if (!o.valid_image_folder.empty())
      valid_.set =
          std::make_shared<const ImageSet>(read_png_folders(o.valid_image_folder, all.get()));
    else if (!o.valid_images.empty())
      valid_.set =
          std::make_shared<const ImageSet>(read_idx_images(o.valid_images, o.valid_labels));
    else if (o.valid_last > 0)
      valid_.set = all;
    Index count = all->size(), held = valid_.set == all ? o.valid_last : 0;
    Index first = o.train_first > 0 ? o.train_first : std::max<Index>(0, count - held);
    if (first < 1 || first + held > count)
      throw ValueError(
          held > 0 ? "--valid-last" : "--train-first",
          fmt::format("{} training and {} validation images are more than the {} of {}",
                      std::max<Index>(1, first), held, count, all->name));
    train_.rows.resize(static_cast<std::size_t>(first));
    std::iota(train_.rows.begin(), train_.rows.end(), 0);
    if (!valid_.set && o.valid_share != 0) {
      std::vector<std::string> names;
      for (Index r : train_.rows) names.push_back(std::to_string(r));
      valid_.rows = take_rows(train_.rows, validation_rows(names, o.valid_share, o.seed));
      held_out_ = describe_held_out(valid_.rows, names.size(), o.valid_share, "image", "images");
      if (!valid_.rows.empty()) valid_.set = all;
    } else if (valid_.set) {
      valid_.rows.resize(static_cast<std::size_t>(held > 0 ? held : valid_.set->size()));
      std::iota(valid_.rows.begin(), valid_.rows.end(), held > 0 ? count - held : 0);
    }
  }

  void measure_pixels() {
    const ImageSet& set = *train_.set;
    Index plane = set.height * set.width;
    for (Index c = 0; c < set.channels; ++c) {
      auto mean_of = [&](auto f) {
        double sum = 0;
        for (Index r : train_.rows) {
          const std::uint8_t* p = set.pixels.data() + (r * set.channels + c) * plane;
          for (Index i = 0; i < plane; ++i) sum += f(p[i] / 255.0);
        }
        return sum / (static_cast<double>(plane) * static_cast<double>(train_.rows.size()));
      };
      const double mean = mean_of([](double v) { return v; });
      const double variance = mean_of([=](double v) { return (v - mean) * (v - mean); });
      select(model_->pixel_mean, 0, c).fill_(mean);
      // A channel without any contrast is left as it is.
      select(model_->pixel_deviation, 0, c).fill_(variance > 1e-6 ? std::sqrt(variance) : 1);
    }
  }

  const Part& part(Split split) const { return split == Split::Train ? train_ : valid_; }

  Part train_, valid_;
  Labels labels_;
  std::unique_ptr<ImageModel> model_;
};

}  // namespace

ImageSizes sizes_of(const ImageSet& set, Index classes) {
  return {set.channels, set.height, set.width, classes};
}

std::unique_ptr<Learner> make_image_learner(const TrainOptions& options, const ModelFile* init,
                                            BuildImageModel* build) {
  return std::make_unique<ImageLearner>(options, init, build);
}

}  // namespace glim
