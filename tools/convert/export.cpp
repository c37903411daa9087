#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "models/pipeline/described.hpp"
#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "models/stored_rows.hpp"
#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"
#include "tools/convert/convert.hpp"
#include "tools/convert/formats.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

using Metadata = std::map<std::string, std::string>;

// The arguments of torch.nn.Transformer.
Metadata torch_metadata(const Checkpoint& checkpoint, const SequenceModel& model) {
  const TransformerConfig& c = dynamic_cast<const Transformer&>(model).config();
  auto refuse = [&](const std::string& problem) {
    throw FileError(checkpoint.file, problem + ", which torch.nn.Transformer cannot");
  };
  if (c.copy) refuse("copies words of the source (--copy)");
  if (is_relative(c.positions))
    refuse("has positions within attention (--positions " + kNames<Positions>.print(c.positions) +
           ")");
  if (c.share_qk) refuse("has one projection for queries and keys (--share-qk)");
  if (c.norm_kind != NormKind::Layer)
    refuse("has no layer norms (--norm-kind " + kNames<NormKind>.print(c.norm_kind) + ")");
  if (c.attention_scale > 0)
    refuse(fmt::format("has another factor than 1/√Dh (--attention-scale {})", c.attention_scale));
  nlohmann::ordered_json config = {{"d_model", c.d_model},
                                   {"nhead", c.heads},
                                   {"num_encoder_layers", c.encoder_layers},
                                   {"num_decoder_layers", c.decoder_layers},
                                   {"dim_feedforward", c.d_ff},
                                   {"dropout", c.dropout},
                                   {"activation", kNames<Activation>.print(c.activation)},
                                   {"layer_norm_eps", c.norm_eps},
                                   {"norm_first", c.norm == NormPlacement::Pre}};
  Metadata metadata = checkpoint.description;  // model and tokenizers
  metadata["config"] = config.dump();
  metadata["label_smoothing"] = fmt::format("{}", checkpoint.options.label_smoothing);
  return metadata;
}

// The arguments of nanoGPT's GPTConfig.
Metadata nanogpt_metadata(const Checkpoint& checkpoint, const TextGenerator& m) {
  const GptConfig& c = m.model()->config();
  // Sizes that nanoGPT has, or whose weights tell them; every other one must be what it is there.
  static const std::set<std::string> any = {"vocab",           "context",      "layers",  "d_model",
                                            "heads",           "bias",         "dropout", "init",
                                            "never_predicted", "position_base"};
  GptConfig ours = c, theirs{.d_ff = 4 * c.d_model};
  const Rows fixed = theirs.rows();
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    const nlohmann::json value = stored(ours.rows()[i]);
    if (any.contains(fixed[i].name) || value == stored(fixed[i])) continue;
    throw FileError(checkpoint.file,
                    fmt::format("has --{} {}, which nanoGPT cannot have", dashed(fixed[i].key()),
                                value.is_string() ? value.get<std::string>() : value.dump()));
  }
  nlohmann::ordered_json config = {
      {"n_layer", c.layers},     {"n_head", c.heads}, {"n_embd", c.d_model},
      {"block_size", c.context}, {"bias", c.bias},    {"vocab_size", c.vocab - c.never_predicted},
      {"dropout", c.dropout}};
  return {{"config", config.dump()},
          {"tokenizer", m.tokenizer()->serialize()},
          {"label_smoothing", fmt::format("{}", checkpoint.options.label_smoothing)}};
}

// The rows of tokens that the imported model did not have are left out again.
StateDict under_their_names(const StateDict& weights, const Format& format, const std::string& file,
                            Index never_predicted) {
  StateDict theirs;
  for (auto& [name, tensor] : weights) {
    auto names = their_names(format, name);
    if (names.empty())
      throw FileError(file, fmt::format("--to {} has no name for its {}", format.name, name));
    bool rows = never_predicted > 0 && (name == "wte.weight" || name == "lm_head.weight");
    theirs[names[0].name] =
        rows ? slice(tensor, 0, never_predicted, tensor.size(0)).contiguous() : tensor;
  }
  return theirs;
}

}  // namespace

void export_model(const std::string& name, const std::string& model, const std::string& out) {
  const Format& format = format_named(name, "to");
  const Checkpoint checkpoint = load_checkpoint(model);
  const std::string &file = checkpoint.file, &kind = checkpoint.kind;
  if (kind != format.kind) {
    std::string other;
    for (const Format& f : formats())
      if (f.kind == kind && other.empty()) other = "; use --to " + f.name;
    throw FileError(
        file, fmt::format("holds a model of kind '{}', --to {} takes one of kind '{}'{}", kind,
                          name, format.kind, other));
  }
  if (kind_named(kind).gives() == Gives::Text) {
    const TextGenerator m(checkpoint);
    write_safetensors(out,
                      under_their_names(m.model()->state_dict(), format, file,
                                        m.model()->config().never_predicted),
                      nanogpt_metadata(checkpoint, m));
  } else {
    const Translator m(checkpoint);
    const Metadata metadata = torch_metadata(checkpoint, *m.model());
    write_safetensors(out, under_their_names(m.model()->state_dict(), format, file, 0), metadata);
  }
}

}  // namespace glim
