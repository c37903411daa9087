// The models from a source to a target, each from options to sizes to a model, and back from a checkpoint.
#include "tools/train/learners/sizes.hpp"
#include "tools/train/learners/translation.hpp"
#include "tools/train/option_list.hpp"

namespace glim {
namespace {

// The sizes of both stacks are those of the file's tensors.
void require_stacks(const TransformerConfig& c, const Evidence& file) {
  file.layers(c.encoder_layers, 0);
  file.layers(c.decoder_layers);
  file.tensor("src_embed.weight", {c.src_vocab, c.d_model});
  file.attention_stack("encoder", c.encoder_layers, c.d_model, c.d_ff);
  file.attention_stack("decoder", c.decoder_layers, c.d_model, c.d_ff);
  if (c.positions == Positions::Learned)
    file.tensor("src_positions.weight", {c.max_len, c.d_model});
}

void require_described(const TransformerConfig& c, const Evidence& file) {
  require_stacks(c, file);
  file.tensor("tgt_embed.weight", {c.tgt_vocab, c.d_model});
}

void require_described(const NonAutoregressiveConfig& c, const Evidence& file) {
  require_stacks(c, file);
  file.tensor("generator.weight", {c.tgt_vocab, c.d_model});
  if (c.length != OutputLength::Predict) return;
  if (c.length_reach < 1 || c.length_reach > c.max_len + (Index{1} << 20))
    throw FileError(file.file, "describes a length predictor of an impossible size");
  file.tensor("length_predictor.weight", {2 * c.length_reach + 1, c.d_model});
}

void require_described(const Seq2SeqRnnConfig& c, const Evidence& file) {
  file.layers(c.layers);
  file.tensor("src_embed.weight", {c.src_vocab, c.d_embed});
  file.tensor("tgt_embed.weight", {c.tgt_vocab, c.d_embed});
  file.size(c.d_model);
  const Index memory = c.attention == AttentionScore::Dot ? c.d_model : 2 * c.d_model;
  file.tensor("generator.weight", {c.tgt_vocab, c.d_model + memory + c.d_embed});
  file.tensor("decoder.weight_ih_l0",
              {gates_of(c.cell) * c.d_model,
               c.d_embed + (c.attention == AttentionScore::Additive ? memory : 0)});
  for (Index i = 0; i < c.layers; ++i)
    file.tensor("decoder.weight_hh_l" + std::to_string(i),
                {gates_of(c.cell) * c.d_model, c.d_model});
}

void require_described(const ConvSeq2SeqConfig& c, const Evidence& file) {
  file.layers(c.encoder_layers, 0);
  file.layers(c.decoder_layers);
  file.tensor("src_embed.weight", {c.src_vocab, c.d_model});
  file.tensor("tgt_embed.weight", {c.tgt_vocab, c.d_model});
  file.tensor("src_positions.weight", {c.max_len, c.d_model});
  file.size(c.d_model);
  for (auto [stack, layers] :
       {std::pair("encoder", c.encoder_layers), std::pair("decoder", c.decoder_layers)})
    file.stack(stack, layers, "conv.weight", {2 * c.d_model, c.d_model, c.kernel});
}

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
    auto c = sizes_from_json<ConfigOf<Model>>(sizes, file);
    require_described(c, Evidence{weights, file});
    return std::make_unique<Model>(c);
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
