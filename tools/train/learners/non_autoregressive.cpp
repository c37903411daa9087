#include "tools/train/learners/non_autoregressive.hpp"

#include <nlohmann/json.hpp>

#include "models/non_autoregressive/non_autoregressive.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/train/learners/transformer.hpp"
#include "tools/train/option_names.hpp"

namespace glim {
namespace {

const OptionNames<OutputLength> kLengths{
    {{"predict", OutputLength::Predict}, {"long", OutputLength::Long}}};

NonAutoregressiveConfig non_autoregressive_config(const TrainOptions& o, Index src_vocab,
                                                  Index tgt_vocab) {
  refuse_options(o, {"d-embed", "cell", "attention"}, "belongs to --kind rnn");
  refuse_options(o, {"kernel"}, "belongs to --kind conv");
  NonAutoregressiveConfig c{transformer_config(o, src_vocab, tgt_vocab)};
  c.length = kLengths.parse("length", o.length);
  return c;
}

std::string to_json(const NonAutoregressiveConfig& c) {
  auto j = nlohmann::json::parse(to_json(static_cast<const TransformerConfig&>(c)));
  j["eos"] = c.eos;
  j["length"] = kLengths.print(c.length);
  j["length_reach"] = c.length_reach;
  j["copy_sharpness"] = c.copy_sharpness;
  return j.dump();
}

NonAutoregressiveConfig from_json(const std::string& text, const std::string& where) {
  NonAutoregressiveConfig c{transformer_config_from_json(text, where)};
  return read_json(text, to_json(c), where, "model description", [&](const nlohmann::json& j) {
    j.at("eos").get_to(c.eos);
    c.length = kLengths.parse("length", j.at("length"));
    j.at("length_reach").get_to(c.length_reach);
    j.at("copy_sharpness").get_to(c.copy_sharpness);
    return c;
  });
}

void require_described(const NonAutoregressiveConfig& m, const StateDict& weights,
                       const std::string& file) {
  auto count = static_cast<Index>(weights.size());
  if (m.encoder_layers < 0 || m.decoder_layers < 1 || m.encoder_layers > count ||
      m.decoder_layers > count)
    throw FileError(file, "describes more layers than it has tensors");
  auto require = [&](const std::string& name, const Shape& shape) {
    require_tensor(weights, name, shape, file);
  };
  require("src_embed.weight", {m.src_vocab, m.d_model});
  require("generator.weight", {m.tgt_vocab, m.d_model});
  for (Index i = 0; i < m.encoder_layers; ++i)
    require("encoder.layers." + std::to_string(i) + ".linear1.weight", {m.d_ff, m.d_model});
  for (Index i = 0; i < m.decoder_layers; ++i)
    require("decoder.layers." + std::to_string(i) + ".linear1.weight", {m.d_ff, m.d_model});
  if (m.positions == Positions::Learned) require("src_positions.weight", {m.max_len, m.d_model});
  if (m.length == OutputLength::Predict) {
    if (m.length_reach < 1 || m.length_reach > m.max_len + (Index{1} << 20))
      throw FileError(file, "describes a length predictor of no sensible size");
    require("length_predictor.weight", {2 * m.length_reach + 1, m.d_model});
  }
}

}  // namespace

SequenceKind non_autoregressive_kind() {
  return {"non-autoregressive",
          [](const TrainOptions& o, Index src_vocab,
             Index tgt_vocab) -> std::unique_ptr<SequenceModel> {
            return std::make_unique<NonAutoregressive>(
                non_autoregressive_config(o, src_vocab, tgt_vocab));
          },
          [](const SequenceModel& model) {
            return to_json(dynamic_cast<const NonAutoregressive&>(model).config());
          },
          [](const std::string& sizes, const StateDict& weights,
             const std::string& file) -> std::unique_ptr<SequenceModel> {
            NonAutoregressiveConfig config = from_json(sizes, file);
            require_described(config, weights, file);
            return std::make_unique<NonAutoregressive>(config);
          },
          {"d-embed", "cell", "attention", "kernel"}};
}

}  // namespace glim
