#include <cmath>
#include <filesystem>
#include <fmt/format.h>

#include "models/tokenizers/by_vocabulary.hpp"
#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tools/convert/convert.hpp"
#include "tools/convert/formats.hpp"
#include "tools/convert/imported_tokenizers.hpp"
#include "tools/convert/marian.hpp"
#include "tools/convert/settings.hpp"
#include "tools/convert/weights.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
namespace {

// Tokens whose text is their number in the file.
TokenizerPtr numbers_as_tokens(const std::vector<Index>& ids) {
  std::vector<std::string> tokens;
  for (Index id : ids) tokens.push_back(std::to_string(id));
  return std::make_shared<VocabularyTokenizer>("word", Vocabulary(std::move(tokens)));
}
std::vector<Index> ids_between(Index first, Index end) {
  std::vector<Index> list;
  for (Index i = first; i < end; ++i) list.push_back(i);
  return list;
}

// The option that makes such a tokenizer; of a byte-bpe, which no option makes, the default.
std::string tokenizer_option(const Tokenizer& t) {
  if (t.kind() == "byte-bpe") return TrainOptions().tokenizer;
  return t.kind() == "sentencepiece" ? "sentencepiece-unigram" : std::string(t.kind());
}

class Importer {
 public:
  explicit Importer(const ImportOptions& o)
      : o_(o), format_(format_named(o.format, "from")), w_(weights_file(o.file), format_) {}

  ImportedModel model() {
    refuse_pickle(w_.file);
    SafeTensors file = read_safetensors(w_.file);
    metadata_ = file.metadata;
    if (metadata_.count("glim")) throw FileError(w_.file, "is a model of Glim already");
    settings_ = Settings::of(metadata_, w_.file);
    w_.take(file.tensors);
    Checkpoint& c = found_.checkpoint;
    c.kind = format_.kind;
    c.options.kind = format_.kind;
    c.options.task = "files";
    if (kind_named(c.kind).gives() == Gives::Text)
      gpt();
    else
      transformer();
    c.options.label_smoothing = metadata_.count("label_smoothing") ? label_smoothing() : 0;
    c.weights = std::move(w_.ours);
    if (c.weights.begin()->second.dtype() == DType::Float64) c.options.precision = "float64";
    c.config_toml = c.options.to_toml();
    return std::move(found_);
  }

 private:
  Index heads(const char* key) {
    if (o_.heads > 0) return o_.heads;
    if (auto n = settings_.number(key)) return static_cast<Index>(*n);
    throw ValueError("--heads",
                     "is needed: " + w_.file + " does not say how many heads attention has");
  }
  void assumed(const std::string& what) { found_.summary.push_back("  assumed: " + what); }

  // The ε that a model of Glim was trained with, which export wrote.
  double label_smoothing() const {
    const auto value = parse_json(metadata_.at("label_smoothing"), /*allow_exceptions=*/false);
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() < 1))
      throw FileError(w_.file, "the label_smoothing in its metadata is not a number from 0 to 1");
    return value.get<double>();
  }
  std::string folder() const { return std::filesystem::path(w_.file).parent_path().string(); }
  // The settings. Their sizes must match the weights.
  void require_settings(const std::vector<Settings::Size>& sizes) {
    const auto unknown = settings_.require_known(format_, sizes);
    if (!unknown.empty())
      assumed(fmt::format("settings that Glim does not know change nothing: {}",
                          fmt::join(unknown, ", ")));
  }
  // As transformers, which makes a head of its own where the embeddings' is not to be it.
  void require_tied_or(const char* head) {
    if (!settings_.flag("tie_word_embeddings").value_or(true) && !w_.find(head))
      throw FileError(
          w_.file, fmt::format("has no {}, and its tie_word_embeddings is false", w_.theirs(head)));
  }

  // The tokenizer under this name, or null.
  TokenizerPtr tokenizer(const char* name) {
    auto entry = metadata_.find(name);
    if (entry == metadata_.end()) return nullptr;
    return deserialize_tokenizer(entry->second, w_.file + ": " + name);
  }

  // Builds a model of these sizes, and compares its weights with the file's, name by name.
  template <class Build>
  void require_weights(const Build& build) {
    try {
      w_.compare(build()->state_dict());
    } catch (const ValueError& e) {
      throw FileError(w_.file, e.problem());
    }
    w_.misfits.refuse(w_.file, format_);
  }

  void scale_queries(const GptConfig& g);
  bool marian() const { return format_.name == "marian"; }
  void gpt();
  void transformer();
  TransformerConfig transformer_sizes();

  const ImportOptions& o_;
  const Format& format_;
  ForeignWeights w_;
  std::map<std::string, std::string> metadata_;
  Settings settings_;
  ImportedModel found_;
};

void Importer::gpt() {
  Checkpoint& c = found_.checkpoint;
  const Tensor wte = w_.need("wte.weight", 2);
  if (const Tensor* head = w_.find("lm_head.weight"); head && !same_bits(*head, wte))
    throw FileError(w_.file, "its lm_head.weight is not its wte.weight; a gpt of Glim ties them");
  GptConfig g;
  g.context = w_.need("wpe.weight", 2).size(0);
  g.d_model = wte.size(1);
  g.layers = w_.layers("transformer");
  g.d_ff = w_.need("transformer.layers.0.linear1.weight", 2).size(0);
  g.bias = w_.find("transformer.layers.0.norm1.bias") != nullptr;
  const Index rows = wte.size(0);
  require_tied_or("lm_head.weight");
  require_settings({{"vocab_size", rows},
                    {"n_positions", g.context},
                    {"block_size", g.context},
                    {"n_embd", g.d_model},
                    {"n_layer", g.layers},
                    {"n_inner", g.d_ff}});
  g.heads = heads("n_head");
  g.dropout = settings_.share("dropout").value_or(settings_.share("resid_pdrop").value_or(0));
  g.norm_eps = settings_.share("layer_norm_epsilon").value_or(1e-5);
  std::string activation =
      settings_.text("activation_function").value_or(format_.conv1d ? "gelu_new" : "gelu");
  g.activation =
      activation_of(o_.activation.empty() ? activation : o_.activation, settings_.where());
  scale_queries(g);
  TokenizerPtr t = tokenizer("tokenizer");
  if (std::vector<std::string> notes; !t && format_.name == "gpt2") {
    t = gpt2_tokenizer(folder(), settings_, rows, notes);
    for (const std::string& note : notes) assumed(note);
  }
  if (!t) {
    t = numbers_as_tokens(ids_between(0, rows));
    assumed(fmt::format("tokens are their numbers, 0 to {}: the file has no tokenizer", rows - 1));
  }
  g.never_predicted = t->size() - rows;
  if (g.never_predicted != 0 && g.never_predicted != kSpecialTokens)
    throw FileError(
        w_.file,
        fmt::format("its tokenizer has {} tokens beside the special ones, its wte.weight {} rows",
                    t->size() - kSpecialTokens, rows));
  g.vocab = t->size();
  if (g.never_predicted > 0)
    w_.ours["wte.weight"] = concatenate(
        std::vector<Tensor>{zeros({g.never_predicted, g.d_model}, wte.dtype()), wte}, 0);
  w_.ours["lm_head.weight"] = w_.ours["wte.weight"];
  require_weights([&] { return described_model<Gpt>(w_.ours, w_.file, g); });
  c.description = {{"model", to_json(g)}, {"tokenizer", t->serialize()}};
  c.options.sizes.insert_or_assign(c.kind, g);
  c.options.tokenizer = tokenizer_option(*t);
  found_.summary.insert(found_.summary.begin(),
                        fmt::format("gpt: {} layers, {} heads, width {}, context {}, {} tokens",
                                    g.layers, g.heads, g.d_model, g.context, rows));
}

// Two settings of GPT-2 scale the scores otherwise than by 1/√Dk: the queries do it.
void Importer::scale_queries(const GptConfig& g) {
  const bool plain = !settings_.flag("scale_attn_weights").value_or(true);
  const bool by_layer = settings_.flag("scale_attn_by_inverse_layer_idx").value_or(false);
  if (!plain && !by_layer) return;
  found_.summary.push_back("  queries hold the factor of the scores that " + settings_.where() +
                           " says");
  for (Index i = 0; i < g.layers; ++i)
    for (const char* part : {"weight", "bias"}) {
      auto entry = w_.ours.find(fmt::format("transformer.layers.{}.self_attn.in_proj_{}", i, part));
      if (entry == w_.ours.end() || entry->second.size(0) != 3 * g.d_model) continue;
      const double factor = (plain ? std::sqrt(static_cast<double>(g.d_model / g.heads)) : 1) /
                            (by_layer ? static_cast<double>(i + 1) : 1);
      Tensor rows = entry->second.clone();
      Tensor queries = narrow(rows, 0, 0, g.d_model);
      queries.copy_(mul(queries, factor));
      entry->second = rows;
    }
}

TransformerConfig Importer::transformer_sizes() {
  TransformerConfig t;
  const Tensor source = w_.need("src_embed.weight", 2);
  require_tied_or("generator.weight");
  for (const char* name : {"tgt_embed.weight", "generator.weight"})
    if (!w_.find(name))
      w_.ours[name] = w_.ours.at(name[0] == 't' ? "src_embed.weight" : "tgt_embed.weight");
  const Tensor target = w_.need("tgt_embed.weight", 2);
  t.src_vocab = source.size(0);
  t.tgt_vocab = target.size(0);
  t.d_model = source.size(1);
  t.encoder_layers = w_.layers("encoder");
  t.decoder_layers = w_.layers("decoder");
  t.d_ff = w_.need("decoder.layers.0.linear1.weight", 2).size(0);
  t.tie = !same_bits(w_.need("generator.weight", 2), target) ? Tie::None
          : same_bits(source, target)                        ? Tie::All
                                                             : Tie::Decoder;
  const Index encoder_ff = w_.need("encoder.layers.0.linear1.weight", 2).size(0);
  require_settings({{"d_model", t.d_model},
                    {"vocab_size", t.src_vocab},
                    {"decoder_vocab_size", t.tgt_vocab},
                    {"num_encoder_layers", t.encoder_layers},
                    {"num_decoder_layers", t.decoder_layers},
                    {"encoder_layers", t.encoder_layers},
                    {"decoder_layers", t.decoder_layers},
                    {"dim_feedforward", t.d_ff},
                    {"encoder_ffn_dim", encoder_ff},
                    {"decoder_ffn_dim", t.d_ff}});
  if (auto model = metadata_.find("model"); model != metadata_.end()) {
    auto config = from_json<TransformerConfig>(model->second, w_.file);
    config.tie = t.tie;
    return config;
  }
  if (marian()) {
    if (encoder_ff != t.d_ff)
      throw FileError(w_.file, fmt::format("has feed-forward layers of {} in its encoder and {} in "
                                           "its decoder; Glim's transformer has one width",
                                           encoder_ff, t.d_ff));
    t.heads = heads("encoder_attention_heads");
    if (auto decoder = settings_.number("decoder_attention_heads"); decoder && *decoder != t.heads)
      throw FileError(settings_.where(), fmt::format("has {} heads in its encoder and {} in its "
                                                     "decoder; Glim's transformer has one number",
                                                     t.heads, *decoder));
    t.dropout = settings_.share("dropout").value_or(0.1);
    t.attention_dropout = settings_.share("attention_dropout").value_or(0);
    t.activation_dropout = settings_.share("activation_dropout").value_or(0);
    t.activation =
        activation_of(settings_.text("activation_function").value_or("gelu"), settings_.where());
    t.norm = NormPlacement::Post;
    t.max_len = settings_.number("max_position_embeddings").value_or(1024);
    return t;
  }
  t.heads = heads("nhead");
  t.dropout = settings_.share("dropout").value_or(0.1);
  t.norm_eps = settings_.share("layer_norm_eps").value_or(1e-5);
  auto first = settings_.flag("norm_first");
  if (o_.norm.empty() && !first) assumed("--norm post, torch's default (pre: norm_first=True)");
  std::string norm = !o_.norm.empty() ? o_.norm : first.value_or(false) ? "pre" : "post";
  t.norm = kNames<NormPlacement>.parse("--norm", norm);
  t.final_norm = w_.find("encoder.norm.weight") != nullptr;
  auto activation = settings_.text("activation");
  if (o_.activation.empty() && !activation) assumed("--activation relu, torch's default");
  t.activation = activation_of(o_.activation.empty() ? activation.value_or("relu") : o_.activation,
                               settings_.where());
  if (w_.find("src_positions.weight")) {
    t.positions = Positions::Learned;
    t.max_len = w_.need("src_positions.weight", 2).size(0);
  } else {
    assumed("embeddings times the root of the width, and interleaved sines and cosines");
  }
  return t;
}

void Importer::transformer() {
  Checkpoint& c = found_.checkpoint;
  TransformerConfig t = transformer_sizes();
  require_weights([&] { return described_model<Transformer>(w_.ours, w_.file, t); });
  TokenizerPtr source = tokenizer("source_tokenizer"), target = tokenizer("target_tokenizer");
  if (marian()) {
    const auto pieces = marian_pieces(folder(), t.src_vocab);
    std::vector<Index> ids = marian_ids(settings_, t.src_vocab, pieces ? pieces->unk : 1);
    if (pieces && (ids[kPad] != pieces->pad || ids[kEos] != pieces->eos))
      throw FileError(
          settings_.where(),
          fmt::format("its pad_token_id {} and eos_token_id {} are not those of <pad> and </s> "
                      "in vocab.json, {} and {}; both must be of one model",
                      ids[kPad], ids[kEos], pieces->pad, pieces->eos));
    const bool scaled = settings_.flag("scale_embedding").value_or(false);
    from_marian(w_.ours, ids, scaled);
    if (!scaled) t.tie = Tie::None;
    t.src_vocab = t.tgt_vocab = static_cast<Index>(ids.size());
    if (pieces) {
      TokenizerPair pair = pieces->tokenizers(ids);
      source = pair.source;
      target = pair.target;
    } else {
      source = numbers_as_tokens({ids.begin() + kSpecialTokens, ids.end()});
      assumed("tokens are their numbers: the folder has no vocab.json, source.spm and target.spm");
    }
  } else if (!source && !target) {
    assumed("tokens are their numbers, from 4 on: the file has no tokenizer");
    assumed("0 is padding, 1 begins a target, 2 ends both sides, 3 is an unknown token");
    source = numbers_as_tokens(ids_between(kSpecialTokens, t.src_vocab));
    if (t.tgt_vocab != t.src_vocab)
      target = numbers_as_tokens(ids_between(kSpecialTokens, t.tgt_vocab));
  }
  if (!source) source = target;
  if (!target) target = source;
  if (source->size() != t.src_vocab || target->size() != t.tgt_vocab)
    throw FileError(
        w_.file, fmt::format("its tokenizers have {} and {} tokens, its embeddings {} and {} rows",
                             source->size(), target->size(), t.src_vocab, t.tgt_vocab));
  c.description = {{"model", to_json(t)}, {"source_tokenizer", source->serialize()}};
  if (target != source) c.description["target_tokenizer"] = target->serialize();
  c.options.sizes.insert_or_assign(c.kind, t);
  c.options.max_length = t.max_len - 1;
  c.options.tokenizer = tokenizer_option(*source);
  if (target->kind() != source->kind()) c.options.target_tokenizer = tokenizer_option(*target);
  c.options.shared_vocabulary = target == source || marian();  // whose pieces share their numbers
  const bool pre = t.norm == NormPlacement::Pre, last = t.final_norm.value_or(pre);
  found_.summary.insert(
      found_.summary.begin(),
      fmt::format(
          "transformer: {} and {} layers, {} heads, width {}, {} and {} tokens, {}-norm{}, {}",
          t.encoder_layers, t.decoder_layers, t.heads, t.d_model, t.src_vocab, t.tgt_vocab,
          kNames<NormPlacement>.print(t.norm),
          last == pre ? ""
          : last      ? " and a last norm"
                      : " without a last norm",
          kNames<Activation>.print(t.activation)));
}

}  // namespace

ImportedModel import_model(const ImportOptions& options) { return Importer(options).model(); }

}  // namespace glim
