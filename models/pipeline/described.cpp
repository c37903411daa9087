#include "models/pipeline/described.hpp"

#include <tuple>

#include "tensor/error.hpp"

namespace glim {
namespace {

template <class Model>
SequenceKind kind_of(const char* name) {
  using Config = std::remove_cvref_t<decltype(std::declval<const Model&>().config())>;
  return {name,
          [](const SequenceModel& model) {
            return to_json(dynamic_cast<const Model&>(model).config());
          },
          [](const ModelFile& m) -> std::unique_ptr<SequenceModel> {
            return described_model<Model>(m.weights, m.file,
                                          sizes_from_json<Config>(m.described("model"), m.file));
          }};
}

TokenizerPtr tokenizer_in(const ModelFile& m, const std::string& name) {
  return deserialize_tokenizer(m.described(name), m.file + ": " + name);
}

}  // namespace

const std::vector<SequenceKind>& sequence_kinds() {
  static const std::vector<SequenceKind> list = {
      kind_of<Transformer>("transformer"), kind_of<Seq2SeqRnn>("rnn"), kind_of<ConvSeq2Seq>("conv"),
      kind_of<NonAutoregressive>("non-autoregressive")};
  return list;
}

const SequenceKind* sequence_kind(const std::string& name) {
  for (const SequenceKind& k : sequence_kinds())
    if (k.name == name) return &k;
  return nullptr;
}

std::string sequence_kind_names() {
  std::string names;
  for (const SequenceKind& k : sequence_kinds()) names += (names.empty() ? "" : ", ") + k.name;
  return names;
}

const SequenceKind& require_translates(const ModelFile& m) {
  const SequenceKind* kind = sequence_kind(m.kind);
  if (!kind)
    throw FileError(m.file, "holds a model of kind '" + m.kind +
                                "', which does not translate; use one of " + sequence_kind_names());
  return *kind;
}

std::unique_ptr<SequenceModel> described_sequence_model(const ModelFile& m) {
  return require_translates(m).rebuild(m);
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
  m.require_kind("gpt", "continue text");
  return sizes_from_json<GptConfig>(m.described("model"), m.file);
}

std::pair<BertConfig, TokenizerPtr> described_encoder(const ModelFile& m) {
  const auto config = sizes_from_json<BertConfig>(m.described("model"), m.file);
  return {config, described_tokenizer(m, config.vocab - 1)};
}

DescribedClassifier described_classifier(const ModelFile& m, const std::string& kind,
                                         const std::string& lacks) {
  m.require_kind(kind, lacks);
  DescribedClassifier d;
  std::tie(d.config, d.tokenizer) = described_encoder(m);
  d.labels = Labels::from_json(m.described("labels"), m.file);
  if (m.weights.count("pooler.weight")) d.pooling = Pooling::First;
  return d;
}

DescribedImageModel described_image_model(const ModelFile& m) {
  if (m.kind != "vit" && m.kind != "cnn")
    throw FileError(m.file,
                    "holds a model of kind '" + m.kind +
                        "', which does not classify images; use one of kind 'vit' or 'cnn'");
  const std::string& sizes = m.described("model");
  DescribedImageModel d;
  d.labels = Labels::from_json(m.described("labels"), m.file);
  auto take = [&](auto config, auto* like) {
    if (d.labels.size() != config.classes)
      throw FileError(m.file, "has " + std::to_string(d.labels.size()) + " labels, its model " +
                                  std::to_string(config.classes) + " classes");
    d.model = described_model<std::remove_pointer_t<decltype(like)>>(m.weights, m.file, config);
  };
  if (m.kind == "cnn")
    take(sizes_from_json<CnnConfig>(sizes, m.file), static_cast<Cnn*>(nullptr));
  else
    take(sizes_from_json<VitConfig>(sizes, m.file), static_cast<Vit*>(nullptr));
  return d;
}

std::string sizes_json(const ImageModel& model) {
  const auto* cnn = dynamic_cast<const Cnn*>(&model);
  return cnn ? to_json(cnn->config()) : to_json(dynamic_cast<const Vit&>(model).config());
}

double room_for(const StateDict& weights) {
  constexpr double kLeast = 64e6, kTimes = 8;
  double bytes = kLeast;
  for (const auto& [name, tensor] : weights) bytes += kTimes * static_cast<double>(tensor.bytes());
  return bytes;
}

}  // namespace glim
