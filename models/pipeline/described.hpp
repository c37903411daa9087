// Models and tokenizers built again from the description in a file. FileError naming the file, before anything large is
// built where its tensors contradict the description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/pipeline/labels.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/pipeline/sizes.hpp"
#include "models/tokenizers/tokenizer.hpp"
#include "tensor/interrupt.hpp"

namespace glim {

// A kind of model from a source to a target sequence.
struct SequenceKind {
  std::string name;
  std::string (*sizes)(const SequenceModel& model);  // as JSON
  // A model of these sizes, without its weights.
  std::unique_ptr<SequenceModel> (*rebuild)(const ModelFile& file);
};
const std::vector<SequenceKind>& sequence_kinds();
const SequenceKind* sequence_kind(const std::string& name);  // null if there is none
std::string sequence_kind_names();                           // "transformer, rnn"

// FileError for a model of another kind.
const SequenceKind& require_translates(const ModelFile& file);
// Without its weights.
std::unique_ptr<SequenceModel> described_sequence_model(const ModelFile& file);
TokenizerPair described_tokenizers(const ModelFile& file);
// The tokenizer of a model with so many tokens.
TokenizerPtr described_tokenizer(const ModelFile& file, Index tokens);
GptConfig described_gpt(const ModelFile& file);
// The sizes of an encoder of kind bert or classifier, and its tokenizer, which has a token less than the model: [MASK].
std::pair<BertConfig, TokenizerPtr> described_encoder(const ModelFile& file);

struct DescribedClassifier {
  BertConfig config;
  TokenizerPtr tokenizer;
  Labels labels;
  Pooling pooling = Pooling::Mean;
};
// Of kind classifier or tagger; `lacks` is what a model of another kind does not do.
DescribedClassifier described_classifier(const ModelFile& file,
                                         const std::string& kind = "classifier",
                                         const std::string& lacks = "classify sentences");

// A classifier of images, without its weights.
struct DescribedImageModel {
  std::unique_ptr<ImageModel> model;
  Labels labels;
};
DescribedImageModel described_image_model(const ModelFile& file);
std::string sizes_json(const ImageModel& model);

// More than a model of these weights takes while it is built, its table of positions aside.
double room_for(const StateDict& weights);
template <class Sizes>
double bytes_of_positions(const Sizes& sizes) {
  if constexpr (requires { sizes.max_len; })
    return 8.0 * static_cast<double>(sizes.max_len) * static_cast<double>(sizes.d_model);
  return 0;
}

// A model of the sizes that a file describes, without its weights.
template <class Model, class... Sizes>
std::unique_ptr<Model> described_model(const StateDict& weights, const std::string& file,
                                       const Sizes&... sizes) {
  const double room = room_for(weights) + (bytes_of_positions(sizes) + ...);
  try {
    MemoryLimit limit(
        static_cast<std::size_t>(std::min(room, 0.5 * static_cast<double>(SIZE_MAX))));
    return std::make_unique<Model>(sizes...);
  } catch (const MemoryError&) {
    throw FileError(file, "its model describes many more numbers than its tensors have");
  } catch (const Error& e) {
    throw FileError(file, e.one_line());
  }
}

// The same with its weights, in eval().
template <class Model, class... Sizes>
std::unique_ptr<Model> loaded_model(const ModelFile& m, const Sizes&... sizes) {
  auto model = described_model<Model>(m.weights, m.file, sizes...);
  load_weights(*model, m);
  return model;
}

}  // namespace glim
