// glim classify with a model of kind `vit` or `cnn`.
//
// PNG files are named as arguments or, one a line, on standard input; or the images of an IDX file.
// One line out for each: the label, a tab, every label's probability, and for files a tab and the name. A file that
// cannot be read is reported and has neither; the exit status then is 1. With --labels (IDX) or --image-folder (a folder for each class) accuracy is measured instead.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "tensor/error.hpp"
#include "tools/cli/verbs/classify.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/images/idx.hpp"
#include "tools/data/images/png.hpp"
#include "tools/kinds/images.hpp"

namespace glim {
namespace {

// The class found for each image of the set.
std::vector<Classified> classify_all(const ImageClassifier& classifier, const ImageSet& set) {
  require_size(set, classifier.model()->sizes());
  std::vector<Classified> all;
  for (Index i = 0; i < set.size(); i += 256) {
    std::vector<Index> rows(static_cast<std::size_t>(std::min<Index>(256, set.size() - i)));
    std::iota(rows.begin(), rows.end(), i);
    for (Classified& c : classifier.classify(images_at(set, rows))) all.push_back(std::move(c));
  }
  return all;
}

void measure_labelled(const ClassifyArguments& a, const ImageClassifier& classifier,
                      const ImageSet& set) {
  const std::vector<Index> truth = label_numbers(set, classifier.labels());
  print_accuracy(a, classifier.labels(), truth, classify_all(classifier, set));
}

// False for a file that cannot be read.
bool classify_file(const ClassifyArguments& a, const ImageClassifier& classifier,
                   const std::string& file) {
  auto find = [&] {
    if (file.find('\0') != file.npos) throw FileError(file, "a file's name has no zero byte");
    ImageSet one = no_images(classifier.model()->sizes());
    one.name = file;
    append_png(one, file);
    return classifier.classify(images_at(one, {0}))[0];
  };
  return classify_one(a, classifier.labels(), find, {{"file", file}}, file);
}

}  // namespace

void classify_images(const ClassifyArguments& a, const ModelFile& model) {
  if (!a.labelled.empty() || !a.columns.empty() || a.truncate)
    throw ValueError(a.truncate           ? "--truncate"
                     : a.labelled.empty() ? "--columns"
                                          : "--labelled",
                     "is for sentences, and this model classifies images; leave the option out");
  int sources = !a.images.empty() + !a.image_folder.empty() + !a.files.empty();
  if (sources > 1)
    throw ValueError("classify", "takes only one of PNG files, --images and --image-folder");
  if (!a.labels.empty() && a.images.empty())
    throw ValueError("--labels", "needs the --images that it labels");
  const ImageClassifier classifier(model);
  if (!a.image_folder.empty()) {
    ImageSet like = no_images(classifier.model()->sizes());
    for (Index i = 0; i < classifier.labels().size(); ++i)
      like.classes.push_back(classifier.labels().name(i));
    return measure_labelled(a, classifier, read_png_folders(a.image_folder, &like));
  }
  if (!a.images.empty()) {
    ImageSet set = read_idx_images(a.images, a.labels);
    if (!a.labels.empty()) return measure_labelled(a, classifier, set);
    const std::vector<Classified> found = classify_all(classifier, set);
    for (std::size_t row = 0; row < found.size(); ++row)
      print_result(a, classifier.labels(), found[row], {{"image", row}});
    return;
  }
  bool all = true;
  for (const std::string& file : a.files) all = classify_file(a, classifier, file) && all;
  std::string line;
  while (a.files.empty() && next_line(stdin, line))
    if (!line.empty()) all = classify_file(a, classifier, line) && all;
  if (!all) throw Exit(1);
}

}  // namespace glim
