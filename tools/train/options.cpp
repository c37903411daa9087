#include "tools/train/options.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/train/option_list.hpp"
#include "tools/train/option_names.hpp"

namespace glim {

namespace {

std::string key_of(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

}  // namespace

std::string TrainOptions::to_json() const {
  nlohmann::ordered_json j;
  each_option(*this, [&](const char*, const char* name, const auto& field, const char*) {
    j[key_of(name)] = field;
  });
  return j.dump();
}

std::string TrainOptions::to_toml() const {
  std::string toml =
      "# The effective options of this run: glim train --config FILE takes them again.\n";
  each_option(*this, [&](const char*, const char* name, const auto& field, const char*) {
    toml += std::string(name) + " = " + nlohmann::json(field).dump() + "\n";
  });
  return toml;
}

TrainOptions TrainOptions::from_json(const std::string& text, const std::string& where) {
  try {
    auto j = nlohmann::json::parse(text);
    TrainOptions o;
    // An option that the file's program did not know yet has its default.
    each_option(o, [&](const char*, const char* name, auto& field, const char*) {
      if (j.contains(key_of(name))) j.at(key_of(name)).get_to(field);
    });
    return o;
  } catch (const nlohmann::json::exception& e) {
    throw FileError(where, std::string("its training options cannot be read: ") + e.what());
  }
}

namespace {

[[noreturn]] void fail(const std::string& option, const std::string& problem) {
  throw ValueError("--" + option, problem);
}
void positive(const char* option, Index value) {
  if (value < 1) fail(option, "must be 1 at least, not " + std::to_string(value));
}
void not_negative(const char* option, double value) {
  if (!(value >= 0) || !std::isfinite(value)) fail(option, "must be 0 or more, and finite");
}
void share(const char* option, double value) {
  if (!(value >= 0 && value < 1)) fail(option, "must lie in [0, 1)");
}

}  // namespace

void check_tokenizer(const TrainOptions& o) {
  for (const std::string& t : {o.tokenizer, o.target_tokenizer})
    if (!t.empty())
      one_of("tokenizer", t,
             {"word", "char", "mixed", "sentencepiece-bpe", "sentencepiece-unigram"});
}

void check_taken(const TrainOptions& o, const std::vector<std::string>& mine) {
  std::vector<std::string> others;
  each_option(o, [&](std::string_view group, const char* name, const auto&, const char*) {
    if ((group == "Data" || group == "Model") &&
        std::find(mine.begin(), mine.end(), name) == mine.end())
      others.emplace_back(name);
  });
  std::erase(others, "kind");
  refuse_options(o, others, "is no option of --kind " + o.kind);
}

void check_translation(const TrainOptions& o) {
  refuse_options(o,
                 {"text", "valid-text", "labelled", "valid-labelled", "init-from", "block", "init",
                  "bias", "word-dropout", "pooling"},
                 "is no option of --kind " + o.kind);
  one_of("task", o.task, {"phrasebook", "names", "copy", "reverse", "noisy", "random", "files"});
  bool files = o.task == "files";
  if (files && (o.source.empty() || o.target.empty()))
    fail(o.source.empty() ? "source" : "target", "both training files are needed");
  if (!files &&
      !(o.source.empty() && o.target.empty() && o.valid_source.empty() && o.valid_target.empty()))
    fail("task", "'" + o.task + "' makes its own data: it takes no files");
  if (o.valid_source.empty() != o.valid_target.empty())
    fail(o.valid_source.empty() ? "valid-source" : "valid-target",
         "both validation files are needed, or neither");
  check_tokenizer(o);
  if (o.shared_vocabulary && !o.target_tokenizer.empty() && o.target_tokenizer != o.tokenizer)
    fail("shared-vocabulary", "contradicts --target-tokenizer: one vocabulary has one tokenizer");
  if (o.tie == "all" && !o.shared_vocabulary)
    fail("tie", "'all' needs --shared-vocabulary: source and target must have the same tokens");
  if (o.copy && (o.tokenizer.rfind("sentencepiece", 0) == 0 ||
                 o.target_tokenizer.rfind("sentencepiece", 0) == 0))
    fail("copy", "needs tokens that are words of the text: --tokenizer word, char or mixed");
  if (o.copy && o.kind != "transformer" && o.kind != "rnn")
    fail("copy", "models of kind '" + o.kind + "' do not copy; transformer and rnn do");
  one_of("length", o.length, {"predict", "long"});
  positive("teacher-beam", o.teacher_beam);
  not_negative("guided-attention", o.guided_attention);
  if (!(o.guided_width > 0) || !std::isfinite(o.guided_width))
    fail("guided-width", "must be above 0, and finite");
  if (!(o.scheduled_sampling >= 0 && o.scheduled_sampling <= 1))
    fail("scheduled-sampling", "must lie in [0, 1]");
  if (o.scheduled_sampling > 0 && o.kind == "non-autoregressive")
    fail("scheduled-sampling", "a non-autoregressive model reads no target tokens");
  one_of("sampling-schedule", o.sampling_schedule,
         {"constant", "linear", "exponential", "inverse-sigmoid"});
  positive("sampling-steps", o.sampling_steps);
}

namespace {

// Options of one kind of model alone.
void refuse_strangers(const TrainOptions& o) {
  static const std::pair<const char*, std::vector<std::string>> kOwners[] = {
      {"conv", {"kernel"}},
      {"vit",
       {"images", "labels", "valid-images", "valid-labels", "image-folder", "valid-image-folder",
        "train-first", "valid-last", "patch", "shift", "rotation"}}};
  for (auto& [kind, names] : kOwners)
    if (o.kind != kind) refuse_options(o, names, std::string("belongs to --kind ") + kind);
}

}  // namespace

void check(const TrainOptions& o) {
  not_negative("vocabulary", static_cast<double>(o.vocabulary));
  positive("min-frequency", o.min_frequency);
  positive("max-length", o.max_length);
  positive("examples", o.examples);
  positive("block", o.block);
  if (!(o.init > 0 && std::isfinite(o.init))) fail("init", "must be above 0, and finite");
  if (!(o.embedding_init >= 0 && std::isfinite(o.embedding_init)))
    fail("embedding-init", "must be 0 or above, and finite");
  share("word-dropout", o.word_dropout);
  one_of("pooling", o.pooling, {"first", "mean"});
  positive("layers", o.layers);
  not_negative("decoder-layers", static_cast<double>(o.decoder_layers));
  positive("d-model", o.d_model);
  positive("heads", o.heads);
  positive("d-ff", o.d_ff);
  positive("d-embed", o.d_embed);
  positive("kernel", o.kernel);
  positive("patch", o.patch);
  not_negative("train-first", static_cast<double>(o.train_first));
  not_negative("valid-last", static_cast<double>(o.valid_last));
  if (!(o.shift >= 0 && o.shift <= 1e6)) fail("shift", "must lie in [0, 1e6] pixels");
  if (!(o.rotation >= 0 && o.rotation <= 180)) fail("rotation", "must lie in [0, 180] degrees");
  refuse_strangers(o);
  if (o.kind != "rnn" && o.kind != "conv" && o.d_model % o.heads != 0)
    fail("heads",
         std::to_string(o.heads) + " heads do not divide d_model " + std::to_string(o.d_model));
  share("dropout", o.dropout);
  share("attention-dropout", std::max(0.0, o.attention_dropout));
  share("activation-dropout", std::max(0.0, o.activation_dropout));
  kNorms.parse("norm", o.norm);
  kActivations.parse("activation", o.activation);
  kTies.parse("tie", o.tie);
  kRecomputes.parse("recompute", o.recompute);
  kPositions.parse("positions", o.positions);
  kCells.parse("cell", o.cell);
  kAttentionScores.parse("attention", o.attention);
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
  positive("record-every", o.record_every);
  if (!o.record && o.record_every != TrainOptions{}.record_every)
    fail("record-every", "needs --record");
  not_negative("try-every", static_cast<double>(o.try_every));
  if (!(o.enough >= 0 && o.enough <= 1)) fail("enough", "must lie in [0, 1]");
  if (o.try_every > 0 &&
      (o.kind == "gpt" || o.kind == "bert" || o.kind == "classifier" || o.kind == "vit"))
    fail("try-every", "belongs to kinds that translate, not to " + o.kind);
  if (o.enough > 0 && o.try_every == 0) fail("enough", "is measured every --try-every epochs");
  not_negative("average", static_cast<double>(o.average));
  one_of("precision", o.precision, {"float32", "float64"});
  if (o.out.empty()) fail("out", "needs a folder");
}

void refuse_options(const TrainOptions& o, const std::vector<std::string>& names,
                    const std::string& reason) {
  for (const std::string& d : differences(o, TrainOptions{}))
    if (std::find(names.begin(), names.end(), d) != names.end()) fail(d, reason);
}

std::vector<std::string> differences(const TrainOptions& a, const TrainOptions& b) {
  std::vector<std::string> names;
  auto other = nlohmann::json::parse(b.to_json());
  each_option(a, [&](const char*, const char* name, const auto& field, const char*) {
    if (nlohmann::json(field) != other[key_of(name)]) names.push_back(name);
  });
  return names;
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
