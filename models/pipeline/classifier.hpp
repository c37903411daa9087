// A label and the probability of each label, for sentences (kind classifier) and for images (kinds vit and cnn).
//
//   const Classifier classifier("model");              // a folder of glim train, or one of its files
//   Classified c = classifier("a fine film");
//   classifier.labels().name(c.label);                 // "1"
//   c.probs[0];                                        // probability of label 0
//
// All calls are const. Several threads may use one classifier at once, and each gets the bytes that it would get alone.
//
// Errors: FileError naming the file for a folder that holds no such model, or naming the sentence for one beyond the
// model's maximum, unless it is to be cut; ShapeError for images of another size.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/bert/bert.hpp"
#include "models/image_model.hpp"
#include "models/pipeline/labels.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/tokenizers/tokenizer.hpp"

namespace glim {

// A classifier's answer for one input.
struct Classified {
  Index label = 0;
  std::vector<double> probs;  // by class
};

// The answers for the rows of logits (N, C).
std::vector<Classified> classified(const Tensor& logits);

// A model and the labels of its outputs; for text with the tokenizer.
template <class Model>
class Labelled {
 public:
  Labelled(Labels labels, TokenizerPtr tokenizer, std::shared_ptr<Model> model)
      : labels_(std::move(labels)), tokenizer_(std::move(tokenizer)), model_(std::move(model)) {}
  const Labels& labels() const { return labels_; }
  const TokenizerPtr& tokenizer() const { return tokenizer_; }
  const std::shared_ptr<Model>& model() const { return model_; }

 protected:
  Labelled() = default;
  Labels labels_;
  TokenizerPtr tokenizer_;
  std::shared_ptr<Model> model_;
};

class Classifier : public Labelled<SequenceClassifier> {
 public:
  using Labelled::Labelled;
  // `path`: the folder of a model, or one of its files.
  explicit Classifier(const std::string& path) : Classifier(read_model(path)) {}
  explicit Classifier(const ModelFile& file);

  Classified operator()(const std::string& sentence, bool truncate = false) const {
    return classify({sentence}, truncate)[0];
  }
  // One for each sentence, none of them blank. `names[i]` is the place of sentence i, for errors ("stdin:17").
  std::vector<Classified> classify(const std::vector<std::string>& sentences, bool truncate = false,
                                   const std::vector<std::string>& names = {}) const;
};

class ImageClassifier : public Labelled<ImageModel> {
 public:
  // `path`: the folder of a model, or one of its files.
  explicit ImageClassifier(const std::string& path) : ImageClassifier(read_model(path)) {}
  explicit ImageClassifier(const ModelFile& file);
  ImageClassifier(Labels labels, std::shared_ptr<ImageModel> model)
      : Labelled(std::move(labels), nullptr, std::move(model)) {}

  // One for each image: (N, C, H, W), pixels from 0 to 1.
  std::vector<Classified> classify(const Tensor& images) const;
};

}  // namespace glim
