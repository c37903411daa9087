#include "tools/train/learners/transformer.hpp"

#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/train/option_names.hpp"

namespace glim {

TransformerConfig transformer_config(const TrainOptions& o, Index src_vocab, Index tgt_vocab) {
  TransformerConfig c;
  c.src_vocab = src_vocab;
  c.tgt_vocab = tgt_vocab;
  c.d_model = o.d_model;
  c.heads = o.heads;
  c.d_ff = o.d_ff;
  c.encoder_layers = o.layers;
  c.decoder_layers = o.decoder_layers ? o.decoder_layers : o.layers;
  c.dropout = o.dropout;
  c.attention_dropout = o.attention_dropout;
  c.activation_dropout = o.activation_dropout;
  c.norm = kNorms.parse("norm", o.norm);
  c.activation = kActivations.parse("activation", o.activation);
  c.tie = kTies.parse("tie", o.tie);
  c.positions = kPositions.parse("positions", o.positions);
  c.max_len = o.max_length + 1;  // <s> or </s> besides
  c.copy = o.copy;
  c.embedding_init = o.embedding_init;
  c.recompute = kRecomputes.parse("recompute", o.recompute);
  return c;
}

std::string to_json(const TransformerConfig& c) {
  nlohmann::json j = {{"src_vocab", c.src_vocab},
                      {"tgt_vocab", c.tgt_vocab},
                      {"d_model", c.d_model},
                      {"heads", c.heads},
                      {"d_ff", c.d_ff},
                      {"encoder_layers", c.encoder_layers},
                      {"decoder_layers", c.decoder_layers},
                      {"dropout", c.dropout},
                      {"attention_dropout", c.attention_dropout},
                      {"activation_dropout", c.activation_dropout},
                      {"norm", kNorms.print(c.norm)},
                      {"activation", kActivations.print(c.activation)},
                      {"tie", kTies.print(c.tie)},
                      {"positions", kPositions.print(c.positions)},
                      {"max_len", c.max_len},
                      {"norm_eps", c.norm_eps},
                      {"pad", c.pad},
                      {"copy", c.copy}};
  return j.dump();
}

TransformerConfig transformer_config_from_json(const std::string& text, const std::string& where) {
  return read_json(text, to_json(TransformerConfig{}), where, "model description",
                   [](const nlohmann::json& j) {
                     TransformerConfig c;
                     j.at("src_vocab").get_to(c.src_vocab);
                     j.at("tgt_vocab").get_to(c.tgt_vocab);
                     j.at("d_model").get_to(c.d_model);
                     j.at("heads").get_to(c.heads);
                     j.at("d_ff").get_to(c.d_ff);
                     j.at("encoder_layers").get_to(c.encoder_layers);
                     j.at("decoder_layers").get_to(c.decoder_layers);
                     j.at("dropout").get_to(c.dropout);
                     c.attention_dropout = j.value("attention_dropout", -1.0);
                     c.activation_dropout = j.value("activation_dropout", -1.0);
                     c.norm = kNorms.parse("norm", j.at("norm"));
                     c.activation = kActivations.parse("activation", j.at("activation"));
                     c.tie = kTies.parse("tie", j.at("tie"));
                     c.positions = kPositions.parse("positions", j.at("positions"));
                     j.at("max_len").get_to(c.max_len);
                     j.at("norm_eps").get_to(c.norm_eps);
                     j.at("pad").get_to(c.pad);
                     c.copy = j.value("copy", false);
                     return c;
                   });
}

void require_tensor(const StateDict& weights, const std::string& name, const Shape& shape,
                    const std::string& file) {
  auto at = weights.find(name);
  if (at == weights.end()) throw FileError(file, "lacks the tensor " + name);
  if (at->second.shape() != shape)
    throw FileError(file, name + " has shape " + to_string(at->second.shape()) +
                              ", its model describes " + to_string(shape));
}

namespace {

void require_described(const TransformerConfig& m, const StateDict& weights,
                       const std::string& file) {
  auto count = static_cast<Index>(weights.size());
  if (m.encoder_layers < 0 || m.decoder_layers < 1 || m.encoder_layers > count ||
      m.decoder_layers > count)
    throw FileError(file, "describes more layers than it has tensors");
  auto require = [&](const std::string& name, const Shape& shape) {
    require_tensor(weights, name, shape, file);
  };
  require("src_embed.weight", {m.src_vocab, m.d_model});
  require("tgt_embed.weight", {m.tgt_vocab, m.d_model});
  for (Index i = 0; i < m.encoder_layers; ++i)
    require("encoder.layers." + std::to_string(i) + ".linear1.weight", {m.d_ff, m.d_model});
  for (Index i = 0; i < m.decoder_layers; ++i)
    require("decoder.layers." + std::to_string(i) + ".linear1.weight", {m.d_ff, m.d_model});
  if (m.positions == Positions::Learned) require("src_positions.weight", {m.max_len, m.d_model});
}

}  // namespace

SequenceKind transformer_kind() {
  return {"transformer",
          [](const TrainOptions& o, Index src_vocab,
             Index tgt_vocab) -> std::unique_ptr<SequenceModel> {
            refuse_options(o, {"d-embed", "cell", "attention"}, "belongs to --kind rnn");
            refuse_options(o, {"length"}, "belongs to --kind non-autoregressive");
            refuse_options(o, {"kernel"}, "belongs to --kind conv");
            return std::make_unique<Transformer>(transformer_config(o, src_vocab, tgt_vocab));
          },
          [](const SequenceModel& model) {
            return to_json(dynamic_cast<const Transformer&>(model).config());
          },
          [](const std::string& sizes, const StateDict& weights,
             const std::string& file) -> std::unique_ptr<SequenceModel> {
            TransformerConfig config = transformer_config_from_json(sizes, file);
            require_described(config, weights, file);
            return std::make_unique<Transformer>(config);
          },
          {"d-embed", "cell", "attention", "length", "kernel"}};
}

}  // namespace glim
