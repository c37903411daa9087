#include "tools/train/learners/rnn.hpp"

#include <nlohmann/json.hpp>

#include "models/rnn/seq2seq_rnn.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/train/learners/transformer.hpp"
#include "tools/train/option_names.hpp"

namespace glim {
namespace {

const std::vector<std::string> kForeignToRnn = {
    "decoder-layers", "heads",      "d-ff",  "attention-dropout", "activation-dropout",
    "norm",           "activation", "tie",   "embedding-init",    "recompute",
    "positions",      "length",     "kernel"};

Seq2SeqRnnConfig rnn_config(const TrainOptions& o, Index src_vocab, Index tgt_vocab) {
  refuse_options(o, kForeignToRnn, "a model of kind 'rnn' has no such thing");
  Seq2SeqRnnConfig c;
  c.src_vocab = src_vocab;
  c.tgt_vocab = tgt_vocab;
  c.d_embed = o.d_embed;
  c.d_model = o.d_model;
  c.layers = o.layers;
  c.cell = kCells.parse("cell", o.cell);
  c.attention = kAttentionScores.parse("attention", o.attention);
  if (c.attention == AttentionScore::Dot && c.d_model % 2 != 0)
    throw ValueError("--d-model",
                     "with --attention dot each direction has half of it: it must be "
                     "even, not " +
                         std::to_string(c.d_model));
  c.dropout = o.dropout;
  c.max_len = o.max_length + 1;  // <s> or </s> besides
  c.copy = o.copy;
  return c;
}

std::string to_json(const Seq2SeqRnnConfig& c) {
  nlohmann::json j = {{"src_vocab", c.src_vocab},
                      {"tgt_vocab", c.tgt_vocab},
                      {"d_embed", c.d_embed},
                      {"d_model", c.d_model},
                      {"layers", c.layers},
                      {"cell", kCells.print(c.cell)},
                      {"attention", kAttentionScores.print(c.attention)},
                      {"dropout", c.dropout},
                      {"max_len", c.max_len},
                      {"pad", c.pad},
                      {"copy", c.copy}};
  return j.dump();
}

Seq2SeqRnnConfig rnn_config_from_json(const std::string& text, const std::string& where) {
  return read_json(text, to_json(Seq2SeqRnnConfig{}), where, "model description",
                   [](const nlohmann::json& j) {
                     Seq2SeqRnnConfig c;
                     j.at("src_vocab").get_to(c.src_vocab);
                     j.at("tgt_vocab").get_to(c.tgt_vocab);
                     j.at("d_embed").get_to(c.d_embed);
                     j.at("d_model").get_to(c.d_model);
                     j.at("layers").get_to(c.layers);
                     c.cell = kCells.parse("cell", j.at("cell"));
                     c.attention = kAttentionScores.parse("attention", j.at("attention"));
                     j.at("dropout").get_to(c.dropout);
                     j.at("max_len").get_to(c.max_len);
                     j.at("pad").get_to(c.pad);
                     c.copy = j.value("copy", false);
                     return c;
                   });
}

void require_described(const Seq2SeqRnnConfig& c, const StateDict& weights,
                       const std::string& file) {
  if (c.layers < 1 || c.layers > static_cast<Index>(weights.size()))
    throw FileError(file, "describes more layers than it has tensors");
  auto require = [&](const std::string& name, const Shape& shape) {
    require_tensor(weights, name, shape, file);
  };
  require("src_embed.weight", {c.src_vocab, c.d_embed});
  require("tgt_embed.weight", {c.tgt_vocab, c.d_embed});
  require("generator.bias", {c.tgt_vocab});
  if (c.d_model < 1 || c.d_model > (Index{1} << 30))
    throw FileError(file, "describes a width of " + std::to_string(c.d_model));
  Index rows = gates_of(c.cell) * c.d_model;
  for (Index i = 0; i < c.layers; ++i)
    require("decoder.weight_hh_l" + std::to_string(i), {rows, c.d_model});
}

}  // namespace

SequenceKind rnn_kind() {
  return {"rnn",
          [](const TrainOptions& o, Index src_vocab,
             Index tgt_vocab) -> std::unique_ptr<SequenceModel> {
            return std::make_unique<Seq2SeqRnn>(rnn_config(o, src_vocab, tgt_vocab));
          },
          [](const SequenceModel& model) {
            return to_json(dynamic_cast<const Seq2SeqRnn&>(model).config());
          },
          [](const std::string& sizes, const StateDict& weights,
             const std::string& file) -> std::unique_ptr<SequenceModel> {
            Seq2SeqRnnConfig config = rnn_config_from_json(sizes, file);
            require_described(config, weights, file);
            return std::make_unique<Seq2SeqRnn>(config);
          },
          kForeignToRnn};
}

}  // namespace glim
