#include "tools/train/learners/conv.hpp"

#include <nlohmann/json.hpp>

#include "models/conv/conv_seq2seq.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/train/learners/transformer.hpp"

namespace glim {
namespace {

const std::vector<std::string> kForeignToConv = {
    "heads",     "d-ff",      "attention-dropout", "activation-dropout", "norm",      "activation",
    "tie",       "positions", "d-embed",           "embedding-init",     "recompute", "cell",
    "attention", "length"};

ConvSeq2SeqConfig conv_config(const TrainOptions& o, Index src_vocab, Index tgt_vocab) {
  refuse_options(o, kForeignToConv, "a model of kind 'conv' has no such thing");
  ConvSeq2SeqConfig c;
  c.src_vocab = src_vocab;
  c.tgt_vocab = tgt_vocab;
  c.d_model = o.d_model;
  c.kernel = o.kernel;
  c.encoder_layers = o.layers;
  c.decoder_layers = o.decoder_layers ? o.decoder_layers : o.layers;
  c.dropout = o.dropout;
  c.max_len = o.max_length + 1;  // <s> or </s> besides
  return c;
}

std::string to_json(const ConvSeq2SeqConfig& c) {
  nlohmann::json j = {{"src_vocab", c.src_vocab},
                      {"tgt_vocab", c.tgt_vocab},
                      {"d_model", c.d_model},
                      {"kernel", c.kernel},
                      {"encoder_layers", c.encoder_layers},
                      {"decoder_layers", c.decoder_layers},
                      {"dropout", c.dropout},
                      {"max_len", c.max_len},
                      {"pad", c.pad}};
  return j.dump();
}

ConvSeq2SeqConfig conv_config_from_json(const std::string& text, const std::string& where) {
  return read_json(text, to_json(ConvSeq2SeqConfig{}), where, "model description",
                   [](const nlohmann::json& j) {
                     ConvSeq2SeqConfig c;
                     j.at("src_vocab").get_to(c.src_vocab);
                     j.at("tgt_vocab").get_to(c.tgt_vocab);
                     j.at("d_model").get_to(c.d_model);
                     j.at("kernel").get_to(c.kernel);
                     j.at("encoder_layers").get_to(c.encoder_layers);
                     j.at("decoder_layers").get_to(c.decoder_layers);
                     j.at("dropout").get_to(c.dropout);
                     j.at("max_len").get_to(c.max_len);
                     j.at("pad").get_to(c.pad);
                     return c;
                   });
}

void require_described(const ConvSeq2SeqConfig& c, const StateDict& weights,
                       const std::string& file) {
  auto count = static_cast<Index>(weights.size());
  if (c.encoder_layers < 0 || c.decoder_layers < 1 || c.encoder_layers > count ||
      c.decoder_layers > count)
    throw FileError(file, "describes more layers than it has tensors");
  auto require = [&](const std::string& name, const Shape& shape) {
    require_tensor(weights, name, shape, file);
  };
  require("src_embed.weight", {c.src_vocab, c.d_model});
  require("tgt_embed.weight", {c.tgt_vocab, c.d_model});
  require("src_positions.weight", {c.max_len, c.d_model});
  if (c.d_model > (Index{1} << 30))
    throw FileError(file, "describes a width of " + std::to_string(c.d_model));
  for (auto [stack, layers] :
       {std::pair("encoder", c.encoder_layers), std::pair("decoder", c.decoder_layers)})
    for (Index i = 0; i < layers; ++i)
      require(std::string(stack) + ".layers." + std::to_string(i) + ".conv.weight",
              {2 * c.d_model, c.d_model, c.kernel});
}

}  // namespace

SequenceKind conv_kind() {
  return {"conv",
          [](const TrainOptions& o, Index src_vocab,
             Index tgt_vocab) -> std::unique_ptr<SequenceModel> {
            return std::make_unique<ConvSeq2Seq>(conv_config(o, src_vocab, tgt_vocab));
          },
          [](const SequenceModel& model) {
            return to_json(dynamic_cast<const ConvSeq2Seq&>(model).config());
          },
          [](const std::string& sizes, const StateDict& weights,
             const std::string& file) -> std::unique_ptr<SequenceModel> {
            ConvSeq2SeqConfig config = conv_config_from_json(sizes, file);
            require_described(config, weights, file);
            return std::make_unique<ConvSeq2Seq>(config);
          },
          kForeignToConv};
}

}  // namespace glim
