#include "tools/train/options.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"

namespace glim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainOptions, task, source, target, valid_source, valid_target,
                                   tokenizer, target_tokenizer, shared_vocabulary, vocabulary,
                                   min_frequency, max_length, examples, layers, decoder_layers,
                                   d_model, heads, d_ff, dropout, norm, activation, tie, positions,
                                   epochs, max_steps, batch_tokens, batch_sentences, accumulate,
                                   label_smoothing, optimizer, beta1, beta2, epsilon, weight_decay,
                                   momentum, schedule, rate, warmup, clip, seed, patience,
                                   valid_every, save_every, log_every, average, precision, out)

namespace {

template <class E>
struct Names {
  std::vector<std::pair<std::string, E>> list;
  E parse(const std::string& option, const std::string& name) const {
    std::string known;
    for (auto& [n, e] : list) {
      if (n == name) return e;
      known += (known.empty() ? "" : ", ") + n;
    }
    throw ValueError("--" + option, "'" + name + "' is none of " + known);
  }
  std::string print(E value) const {
    for (auto& [n, e] : list)
      if (e == value) return n;
    return "?";
  }
};

const Names<NormPlacement> kNorms{{{"pre", NormPlacement::Pre}, {"post", NormPlacement::Post}}};
const Names<Activation> kActivations{
    {{"relu", Activation::Relu}, {"gelu", Activation::Gelu}, {"silu", Activation::Silu}}};
const Names<Tie> kTies{{{"none", Tie::None}, {"decoder", Tie::Decoder}, {"all", Tie::All}}};
const Names<Positions> kPositions{
    {{"sinusoidal", Positions::Sinusoidal}, {"learned", Positions::Learned}}};

void one_of(const std::string& option, const std::string& value,
            std::initializer_list<const char*> known) {
  Names<int> names;
  for (const char* k : known) names.list.emplace_back(k, 0);
  names.parse(option, value);
}

}  // namespace

std::string TrainOptions::to_json() const { return nlohmann::json(*this).dump(); }

std::string TrainOptions::to_toml() const {
  std::string text =
      "# The effective options of this run: glim train --config FILE takes them again.\n";
  nlohmann::ordered_json j = nlohmann::ordered_json::parse(to_json());
  for (auto& [key, value] : j.items()) {
    std::string name = key;
    for (char& c : name) c = c == '_' ? '-' : c;
    text += name + " = " + value.dump() + "\n";
  }
  return text;
}

TrainOptions TrainOptions::from_json(const std::string& text, const std::string& where) {
  try {
    return nlohmann::json::parse(text).get<TrainOptions>();
  } catch (const nlohmann::json::exception& e) {
    throw FileError(where, std::string("its training options cannot be read: ") + e.what());
  }
}

void check(const TrainOptions& o) {
  auto fail = [](const std::string& option, const std::string& problem) {
    throw ValueError("--" + option, problem);
  };
  auto positive = [&](const char* option, Index value) {
    if (value < 1) fail(option, "must be 1 at least, not " + std::to_string(value));
  };
  auto not_negative = [&](const char* option, double value) {
    if (!(value >= 0) || !std::isfinite(value)) fail(option, "must be 0 or more, and finite");
  };
  auto share = [&](const char* option, double value) {
    if (!(value >= 0 && value < 1)) fail(option, "must lie in [0, 1)");
  };
  one_of("task", o.task, {"phrasebook", "copy", "reverse", "random", "files"});
  bool files = o.task == "files";
  if (files && (o.source.empty() || o.target.empty()))
    fail(o.source.empty() ? "source" : "target", "both training files are needed");
  if (!files &&
      !(o.source.empty() && o.target.empty() && o.valid_source.empty() && o.valid_target.empty()))
    fail("task", "'" + o.task + "' makes its own data: it takes no files");
  if (o.valid_source.empty() != o.valid_target.empty())
    fail(o.valid_source.empty() ? "valid-source" : "valid-target",
         "both validation files are needed, or neither");
  for (const std::string& t : {o.tokenizer, o.target_tokenizer})
    if (!t.empty())
      one_of("tokenizer", t, {"word", "char", "sentencepiece-bpe", "sentencepiece-unigram"});
  if (o.shared_vocabulary && !o.target_tokenizer.empty() && o.target_tokenizer != o.tokenizer)
    fail("shared-vocabulary", "contradicts --target-tokenizer: one vocabulary has one tokenizer");
  if (o.tie == "all" && !o.shared_vocabulary)
    fail("tie", "'all' needs --shared-vocabulary: source and target must have the same tokens");
  not_negative("vocabulary", static_cast<double>(o.vocabulary));
  positive("min-frequency", o.min_frequency);
  positive("max-length", o.max_length);
  positive("examples", o.examples);
  positive("layers", o.layers);
  not_negative("decoder-layers", static_cast<double>(o.decoder_layers));
  positive("d-model", o.d_model);
  positive("heads", o.heads);
  positive("d-ff", o.d_ff);
  if (o.d_model % o.heads != 0)
    fail("heads",
         std::to_string(o.heads) + " heads do not divide d_model " + std::to_string(o.d_model));
  share("dropout", o.dropout);
  kNorms.parse("norm", o.norm);
  kActivations.parse("activation", o.activation);
  kTies.parse("tie", o.tie);
  kPositions.parse("positions", o.positions);
  positive("epochs", o.epochs);
  not_negative("max-steps", static_cast<double>(o.max_steps));
  not_negative("batch-tokens", static_cast<double>(o.batch_tokens));
  not_negative("batch-sentences", static_cast<double>(o.batch_sentences));
  if (o.batch_tokens == 0 && o.batch_sentences == 0)
    fail("batch-tokens", "needs a limit on tokens or on sentences");
  positive("accumulate", o.accumulate);
  share("label-smoothing", o.label_smoothing);
  one_of("optimizer", o.optimizer, {"adam", "adamw", "sgd"});
  share("beta1", o.beta1);
  share("beta2", o.beta2);
  if (!(o.epsilon > 0)) fail("epsilon", "must be above 0");
  not_negative("weight-decay", o.weight_decay);
  share("momentum", o.momentum);
  one_of("schedule", o.schedule, {"noam", "inverse-sqrt", "cosine", "constant"});
  not_negative("rate", o.rate);
  not_negative("warmup", static_cast<double>(o.warmup));
  not_negative("clip", o.clip);
  not_negative("seed", static_cast<double>(o.seed));
  not_negative("patience", static_cast<double>(o.patience));
  not_negative("valid-every", static_cast<double>(o.valid_every));
  not_negative("save-every", static_cast<double>(o.save_every));
  positive("log-every", o.log_every);
  not_negative("average", static_cast<double>(o.average));
  one_of("precision", o.precision, {"float32", "float64"});
  if (o.out.empty()) fail("out", "needs a folder");
}

std::vector<std::string> differences(const TrainOptions& a, const TrainOptions& b) {
  std::vector<std::string> names;
  nlohmann::json ja = a, jb = b;
  for (auto& [key, value] : ja.items()) {
    if (value == jb[key]) continue;
    std::string name = key;
    for (char& c : name) c = c == '_' ? '-' : c;
    names.push_back(name);
  }
  return names;
}

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
  c.norm = kNorms.parse("norm", o.norm);
  c.activation = kActivations.parse("activation", o.activation);
  c.tie = kTies.parse("tie", o.tie);
  c.positions = kPositions.parse("positions", o.positions);
  c.max_len = o.max_length + 1;  // <s> or </s> besides
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
                      {"norm", kNorms.print(c.norm)},
                      {"activation", kActivations.print(c.activation)},
                      {"tie", kTies.print(c.tie)},
                      {"positions", kPositions.print(c.positions)},
                      {"max_len", c.max_len},
                      {"norm_eps", c.norm_eps},
                      {"pad", c.pad}};
  return j.dump();
}

TransformerConfig transformer_config_from_json(const std::string& text, const std::string& where) {
  try {
    auto j = nlohmann::json::parse(text);
    TransformerConfig c;
    j.at("src_vocab").get_to(c.src_vocab);
    j.at("tgt_vocab").get_to(c.tgt_vocab);
    j.at("d_model").get_to(c.d_model);
    j.at("heads").get_to(c.heads);
    j.at("d_ff").get_to(c.d_ff);
    j.at("encoder_layers").get_to(c.encoder_layers);
    j.at("decoder_layers").get_to(c.decoder_layers);
    j.at("dropout").get_to(c.dropout);
    c.norm = kNorms.parse("norm", j.at("norm"));
    c.activation = kActivations.parse("activation", j.at("activation"));
    c.tie = kTies.parse("tie", j.at("tie"));
    c.positions = kPositions.parse("positions", j.at("positions"));
    j.at("max_len").get_to(c.max_len);
    j.at("norm_eps").get_to(c.norm_eps);
    j.at("pad").get_to(c.pad);
    return c;
  } catch (const nlohmann::json::exception& e) {
    throw FileError(where, std::string("its model description cannot be read: ") + e.what());
  } catch (const ValueError& e) {
    throw FileError(where, "its model description cannot be read: " + e.headline());
  }
}

std::unique_ptr<Schedule> make_schedule(const TrainOptions& o, Index total_steps) {
  double rate = o.rate > 0 ? o.rate : o.schedule == "noam" ? 1 : 5e-4;
  if (o.schedule == "noam") return std::make_unique<NoamSchedule>(o.d_model, o.warmup, rate);
  if (o.schedule == "inverse-sqrt") return std::make_unique<InverseSqrtSchedule>(rate, o.warmup);
  if (o.schedule == "cosine") {
    if (o.warmup >= total_steps)
      throw ValueError("--warmup", std::to_string(o.warmup) + " steps leave nothing of the " +
                                       std::to_string(total_steps) + " steps for the cosine");
    return std::make_unique<CosineSchedule>(rate, o.warmup, total_steps, 0.1 * rate);
  }
  return std::make_unique<ConstantSchedule>(rate);
}

BatchOptions batch_options(const TrainOptions& o) {
  BatchOptions b;
  b.max_tokens = o.batch_tokens;
  b.max_sentences = o.batch_sentences;
  b.source_eos = true;
  return b;
}

TokenizerOptions tokenizer_options(const TrainOptions& o, bool target) {
  const std::string& name =
      target && !o.target_tokenizer.empty() ? o.target_tokenizer : o.tokenizer;
  TokenizerOptions t;
  t.min_frequency = o.min_frequency;
  t.max_size = o.vocabulary;
  t.kind = name;
  if (name.rfind("sentencepiece-", 0) == 0) {
    t.kind = "sentencepiece";
    t.model = name.substr(14);
    if (o.vocabulary > 0) t.vocabulary_size = o.vocabulary;
  }
  return t;
}

}  // namespace glim
