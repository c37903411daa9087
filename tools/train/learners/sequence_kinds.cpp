// The models from a source to a target, each from options to sizes to a model, and back from a checkpoint.
#include "tools/train/learners/sizes.hpp"
#include "tools/train/learners/translation.hpp"
#include "tools/train/option_list.hpp"

namespace glim {
namespace {

// What the options mean for this kind alone.
template <class Config>
void finish(const TrainOptions&, Config& c) {
  if (c.decoder_layers == 0) c.decoder_layers = c.encoder_layers;
}
void finish(const TrainOptions& o, Seq2SeqRnnConfig& c) {
  if (c.attention == AttentionScore::Dot && c.d_model % 2 != 0)
    throw ValueError("--d-model",
                     "with --attention dot each direction has half of it: it must be even, not " +
                         std::to_string(o.d_model));
}

template <class Model>
using ConfigOf = std::remove_cvref_t<decltype(std::declval<const Model&>().config())>;

template <class Model>
SequenceKind kind_of(const char* name) {
  using Built = std::unique_ptr<SequenceModel>;
  SequenceKind kind;
  kind.name = name;
  kind.build = [](const TrainOptions& o, Index src_vocab, Index tgt_vocab) -> Built {
    reject_unknown(o);
    auto c = sizes_of<ConfigOf<Model>>(o);
    c.src_vocab = src_vocab;
    c.tgt_vocab = tgt_vocab;
    c.max_len = o.max_length + 1;  // <s> or </s> besides
    finish(o, c);
    return std::make_unique<Model>(c);
  };
  kind.sizes = [](const SequenceModel& model) {
    return to_json(dynamic_cast<const Model&>(model).config());
  };
  kind.rebuild = [](const std::string& sizes, const StateDict& weights,
                    const std::string& file) -> Built {
    return described_model<Model>(weights, file, sizes_from_json<ConfigOf<Model>>(sizes, file));
  };
  return kind;
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

}  // namespace glim
