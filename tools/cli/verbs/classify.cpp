// glim classify: a label and the probabilities of all labels for each input.
//
// The model's kind says which input is read (classify.hpp).
#include "tools/cli/verbs/classify.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

void run_classify(const ClassifyArguments& a) {
  const ModelFile model = read_model(a.model);
  require_gives(model, {Gives::Class, Gives::TokenClasses, Gives::ImageClass}, "classify");
  const Gives gives = kind_of(model).gives;
  if (gives == Gives::ImageClass) return classify_images(a, model);
  if (!(a.images.empty() && a.labels.empty() && a.image_folder.empty() && a.files.empty()))
    throw ValueError("classify", "this model reads sentences; for images use a model of kind " +
                                     names_of_kinds({Gives::ImageClass}));
  gives == Gives::TokenClasses ? classify_tokens(a, model) : classify_sentences(a, model);
}

}  // namespace

void print_result(const ClassifyArguments& a, const Labels& labels, const Classified& c,
                  nlohmann::ordered_json input, const std::string& file) {
  if (a.json) {
    input["label"] = labels.name(c.label);
    for (Index i = 0; i < labels.size(); ++i)
      input["probabilities"][labels.name(i)] = c.probs[static_cast<std::size_t>(i)];
    return print_json(input);
  }
  std::string line = labels.name(c.label) + "\t";
  for (Index i = 0; i < labels.size(); ++i)
    line += fmt::format("{}{}={:.4f}", i > 0 ? " " : "", labels.name(i),
                        c.probs[static_cast<std::size_t>(i)]);
  print_line(line + (file.empty() ? "" : "\t" + visible(file)));
}

bool classify_one(const ClassifyArguments& a, const Labels& labels,
                  const std::function<std::optional<Classified>()>& find,
                  nlohmann::ordered_json input, const std::string& file) {
  std::optional<Classified> found;
  std::string error;
  try {
    found = find();
  } catch (const FileError& e) {
    report_error(e.one_line());
    error = e.problem();
  }
  if (found) {
    print_result(a, labels, *found, std::move(input), file);
  } else if (a.json) {
    input["label"] = nullptr;
    input["probabilities"] = nlohmann::ordered_json::object();
    if (!error.empty()) input["error"] = error;
    print_json(input);
  } else {
    print_line(file.empty() ? "" : "\t\t" + visible(file));
  }
  return error.empty();
}

void print_accuracy(const ClassifyArguments& a, const Labels& labels,
                    const std::vector<Index>& truth, const std::vector<Classified>& found,
                    const SpanCounts* spans) {
  Index all_right = 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string classes;
  for (Index label = 0; label < labels.size(); ++label) {
    Index total = 0, right = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
      if (truth[i] == label) ++total, right += found[i].label == label;
    all_right += right;
    classes += fmt::format("\n  {}: {} of {}", labels.name(label), right, total);
    list.push_back({{"label", labels.name(label)}, {"right", right}, {"total", total}});
  }
  const Index total = std::ssize(truth);
  double share = static_cast<double>(all_right) / static_cast<double>(std::max<Index>(total, 1));
  if (a.json) {
    nlohmann::ordered_json all = {
        {"accuracy", share}, {"right", all_right}, {"total", total}, {"classes", std::move(list)}};
    if (spans)
      all["spans"] = {{"f1", spans->f1()},         {"precision", spans->precision()},
                      {"recall", spans->recall()}, {"right", spans->right},
                      {"found", spans->found},     {"total", spans->expected}};
    return print_json(all);
  }
  print_line(fmt::format("accuracy {:.4f} ({} of {})", share, all_right, total) + classes);
  if (spans) print_line(spans->describe());
}

Command classify_command() {
  Command c("classify", "label each line of standard input, or each image, with probabilities");
  auto a = std::make_shared<ClassifyArguments>();
  const std::string of_images = " (" + names_of(kinds_that_give({Gives::ImageClass})) + ")";
  c.option("model", &a->model, "folder of a model, or one of its files");
  c.option(
      "labelled", &a->labelled,
      "file of sentence<TAB>label lines, CSV or JSON lines (tagger: TOKEN<TAB>LABEL lines, CoNLL "
      "or JSON lines): measure the accuracy on them (-: standard input)");
  c.option("columns", &a->columns, "its columns, as NAME,NAME (those of training; sentence,label)");
  c.option("truncate", &a->truncate, "cut sentences beyond the model's maximum");
  c.option("images", &a->images, "IDX file of images to classify" + of_images);
  c.option("labels", &a->labels, "IDX file of their labels: measure the accuracy on them");
  c.option("image-folder", &a->image_folder,
           "folder with a folder of PNGs for each class: measure the accuracy on them" + of_images);
  c.option("json", &a->json, "print a JSON object for each input");
  c.argument("files", &a->files,
             "PNG files" + of_images + "; without any, standard input gives their names");
  c.run = [a](Command&) { run_classify(*a); };
  return c;
}

}  // namespace glim
