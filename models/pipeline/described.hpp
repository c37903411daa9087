// Models and tokenizers built again from the description in a file. FileError naming the file, before anything large is
// built where its tensors contradict the description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/bert/bert.hpp"
#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/pipeline/labels.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/tokenizers/tokenizer.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "tensor/interrupt.hpp"

namespace glim {

// The output of a trained model. It decides which inputs the model reads.
enum class Gives { Translations, Text, HiddenTokens, Class, TokenClasses, ImageClass };
template <>
inline const ChoiceNames<Gives> kNames<Gives>{{{"translations", Gives::Translations},
                                               {"text", Gives::Text},
                                               {"hidden tokens", Gives::HiddenTokens},
                                               {"class", Gives::Class},
                                               {"token classes", Gives::TokenClasses},
                                               {"image class", Gives::ImageClass}}};

// A kind of model, as a file names it. A model of pairs or images is built from its sizes alone, without its weights.
struct ModelKind {
  std::string name;
  Gives gives;
  std::unique_ptr<SequenceModel> (*of_pairs)(const ModelFile& file) = nullptr;
  std::unique_ptr<ImageModel> (*of_images)(const ModelFile& file) = nullptr;
};
const std::vector<ModelKind>& model_kinds();
// The kinds that give one of these: "transformer, rnn or conv".
std::string names_of_kinds(std::initializer_list<Gives> these);
// FileError for a kind that there is not.
const ModelKind& kind_of(const ModelFile& file);
// FileError unless a file's model is of a kind that gives one of these: it says what this one `lacks`, with the
// kinds that do.
void require_gives(const ModelFile& file, std::initializer_list<Gives> these,
                   const std::string& lacks);

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
// The classifier of a file whose model gives classes, of sentences or of tokens.
DescribedClassifier described_classifier(const ModelFile& file, Gives gives);

// A classifier of images, without its weights.
struct DescribedImageModel {
  std::unique_ptr<ImageModel> model;
  Labels labels;
};
DescribedImageModel described_image_model(const ModelFile& file);

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

// The model with its weights, in eval().
template <class Model, class... Sizes>
std::unique_ptr<Model> loaded_model(const ModelFile& m, const Sizes&... sizes) {
  auto model = described_model<Model>(m.weights, m.file, sizes...);
  load_weights(*model, m);
  return model;
}

}  // namespace glim
