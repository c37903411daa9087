#include "models/pipeline/described.hpp"

#include <algorithm>
#include <tuple>

#include "models/pipeline/kinds.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

template <class Model>
using ConfigOf = std::remove_cvref_t<decltype(std::declval<const Model&>().config())>;

template <class Model, class Base>
std::unique_ptr<Base> rebuilt(const ModelFile& m) {
  return described_model<Model>(m.weights, m.file,
                                from_json<ConfigOf<Model>>(m.described("model"), m.file));
}

template <class Model>
ModelKind of_pairs(std::string name) {
  return {.name = std::move(name),
          .gives = Gives::Translations,
          .of_pairs = rebuilt<Model, SequenceModel>};
}
template <class Model>
ModelKind of_images(std::string name) {
  return {
      .name = std::move(name), .gives = Gives::ImageClass, .of_images = rebuilt<Model, ImageModel>};
}
template <Gives what>
ModelKind of(std::string name) {
  return {.name = std::move(name), .gives = what};
}

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

TokenizerPtr tokenizer_in(const ModelFile& m, const std::string& name) {
  return deserialize_tokenizer(m.described(name), m.file + ": " + name);
}

}  // namespace

const std::vector<ModelKind>& model_kinds() {
#define GLIM_KIND(name, describe) describe(dashed(#name)),
  static const std::vector<ModelKind> list = {GLIM_KINDS(GLIM_KIND)};
#undef GLIM_KIND
  return list;
}

const ModelKind& kind_of(const ModelFile& m) {
  std::string names;
  for (const ModelKind& kind : model_kinds()) {
    if (kind.name == m.kind) return kind;
    names += (names.empty() ? "" : ", ") + kind.name;
  }
  throw FileError(m.file, "holds a model of the unknown kind '" + m.kind + "'; known are " + names);
}

std::string names_of_kinds(std::initializer_list<Gives> these) {
  std::string names, last;
  for (const ModelKind& kind : model_kinds()) {
    if (std::ranges::find(these, kind.gives) == these.end()) continue;
    names += (names.empty() ? "" : ", ") + last;
    last = kind.name;
  }
  return names + (names.empty() ? "" : " or ") + last;
}

void require_gives(const ModelFile& m, std::initializer_list<Gives> these,
                   const std::string& lacks) {
  if (std::ranges::find(these, kind_of(m).gives) != these.end()) return;
  throw FileError(m.file, "holds a model of kind '" + m.kind + "', which does not " + lacks +
                              "; use a model of kind " + names_of_kinds(these));
}

std::unique_ptr<SequenceModel> described_sequence_model(const ModelFile& m) {
  require_gives(m, {Gives::Translations}, "translate");
  return kind_of(m).of_pairs(m);
}

TokenizerPair described_tokenizers(const ModelFile& m) {
  TokenizerPair t;
  t.source = tokenizer_in(m, "source_tokenizer");
  t.target =
      m.description.count("target_tokenizer") ? tokenizer_in(m, "target_tokenizer") : t.source;
  return t;
}

TokenizerPtr described_tokenizer(const ModelFile& m, Index tokens) {
  TokenizerPtr t = tokenizer_in(m, "tokenizer");
  if (t->size() != tokens)
    throw FileError(m.file, "its tokenizer does not have the vocabulary size of its model");
  return t;
}

GptConfig described_gpt(const ModelFile& m) {
  require_gives(m, {Gives::Text}, "continue text");
  return from_json<GptConfig>(m.described("model"), m.file);
}

std::pair<BertConfig, TokenizerPtr> described_encoder(const ModelFile& m) {
  const auto config = from_json<BertConfig>(m.described("model"), m.file);
  return {config, described_tokenizer(m, config.vocab - 1)};
}

DescribedClassifier described_classifier(const ModelFile& m, Gives gives) {
  require_gives(m, {gives}, gives == Gives::Class ? "classify sentences" : "label tokens");
  DescribedClassifier d;
  std::tie(d.config, d.tokenizer) = described_encoder(m);
  d.labels = Labels::from_json(m.described("labels"), m.file);
  if (m.weights.count("pooler.weight")) d.pooling = Pooling::First;
  return d;
}

DescribedImageModel described_image_model(const ModelFile& m) {
  require_gives(m, {Gives::ImageClass}, "classify images");
  DescribedImageModel d{nullptr, Labels::from_json(m.described("labels"), m.file)};
  const Index classes = from_json<ImageSizes>(m.described("model"), m.file).classes;
  if (d.labels.size() != classes)
    throw FileError(m.file, "has " + std::to_string(d.labels.size()) + " labels, its model " +
                                std::to_string(classes) + " classes");
  d.model = kind_of(m).of_images(m);
  return d;
}

double room_for(const StateDict& weights) {
  constexpr double kLeast = 64e6, kTimes = 8;
  double bytes = kLeast;
  for (const auto& [name, tensor] : weights) bytes += kTimes * static_cast<double>(tensor.bytes());
  return bytes;
}

}  // namespace glim
