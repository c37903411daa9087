// glim classify: a label and the probabilities of all labels for each input.
//
// What is read depends on the model's kind (classify.hpp).
#include "tools/cli/verbs/classify.hpp"

#include <fmt/format.h>
#include <memory>

#include "tensor/error.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {
namespace {

struct ClassifyKind {
  std::string kind;
  void (*run)(const ClassifyArguments&);
};
const std::vector<ClassifyKind> kKinds = {{"classifier", classify_sentences},
                                          {"vit", classify_images}};

void run_classify(const ClassifyArguments& a) {
  std::string file = model_file(a.model), kind = load_checkpoint(file).kind, known;
  for (const ClassifyKind& k : kKinds) {
    if (k.kind == kind) return k.run(a);
    known += (known.empty() ? "" : ", ") + k.kind;
  }
  throw FileError(
      file, "holds a model of kind '" + kind + "', which does not classify; use one of " + known);
}

}  // namespace

std::string result_line(const Labels& labels, const Classified& c) {
  std::string line = labels.name(c.label) + "\t";
  for (Index i = 0; i < labels.size(); ++i)
    line += fmt::format("{}{}={:.4f}", i > 0 ? " " : "", labels.name(i),
                        c.probs[static_cast<std::size_t>(i)]);
  return line;
}

Accuracy::Accuracy(const Labels& labels)
    : labels_(labels),
      total_(static_cast<std::size_t>(labels.size())),
      right_(static_cast<std::size_t>(labels.size())) {}

void Accuracy::add(Index truth, Index found) {
  ++total_[static_cast<std::size_t>(truth)];
  if (truth == found) ++right_[static_cast<std::size_t>(truth)];
}

std::string Accuracy::text() const {
  Index total = 0, right = 0;
  std::string classes;
  for (std::size_t i = 0; i < total_.size(); ++i) {
    total += total_[i];
    right += right_[i];
    classes +=
        fmt::format("\n  {}: {} of {}", labels_.name(static_cast<Index>(i)), right_[i], total_[i]);
  }
  return fmt::format("accuracy {:.4f} ({} of {})",
                     static_cast<double>(right) / static_cast<double>(std::max<Index>(total, 1)),
                     right, total) +
         classes;
}

Command classify_command() {
  Command c("classify", "label each line of standard input, or each image, with probabilities");
  auto a = std::make_shared<ClassifyArguments>();
  c.option("model", &a->model, "folder of a model, or one of its files");
  c.option("labelled", &a->labelled,
           "measure the accuracy on this file of sentence<TAB>label lines instead (-: "
           "standard input)");
  c.option("truncate", &a->truncate, "cut sentences beyond the model's maximum");
  c.option("images", &a->images, "classify the images of this IDX file (vit)");
  c.option("labels", &a->labels, "their labels: measure the accuracy on them");
  c.option("image-folder", &a->image_folder,
           "measure the accuracy on a folder with a folder of PNGs for each class (vit)");
  c.argument("files", &a->files, "PNG files (vit); without any, standard input gives their names");
  c.run = [a](Command&) { run_classify(*a); };
  return c;
}

}  // namespace glim
