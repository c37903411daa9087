#include "tools/train/presets.hpp"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "tools/common/utf8.hpp"
#include "tools/train/option_list.hpp"

namespace glim {
namespace {

// Of these kinds and tasks (none named: all). A later line has the last word; 4D is four times d-model.
struct Preset {
  const char *kinds, *tasks, *options;
};

constexpr const char* kAttentive = "transformer non-autoregressive";
constexpr const char* kSynthetic = "copy reverse noisy";

constexpr Preset kPresets[] = {
    {kAttentive, "phrasebook",
     "target-tokenizer=char layers=2 d-model=128 heads=4 d-ff=256 norm=pre dropout=0.05 "
     "label-smoothing=0.05 epochs=14 batch-tokens=512 schedule=cosine rate=2e-3 warmup=300 "
     "average=3 "
     "try-every=2 enough=0.99"},
    // Names are words that no vocabulary has: min-frequency.
    {kAttentive, "names",
     "target-tokenizer=mixed min-frequency=5 label-smoothing=0 layers=2 d-model=128 heads=4 "
     "d-ff=256 "
     "norm=pre epochs=24 batch-tokens=1024 schedule=cosine rate=2e-3 warmup=300 average=5"},
    {kAttentive, kSynthetic,
     "layers=2 d-model=64 heads=4 d-ff=128 norm=pre label-smoothing=0 batch-tokens=0 "
     "batch-sentences=40 warmup=150"},
    // The tutorials' sizes: 64 pairs of 100 tokens by heart.
    {kAttentive, "random",
     "layers=6 d-model=512 heads=8 d-ff=2048 label-smoothing=0 batch-tokens=0 batch-sentences=64 "
     "schedule=constant rate=1e-4 epochs=100"},

    {"transformer non-autoregressive", "files",
     "layers=2 d-model=128 heads=4 d-ff=256 norm=pre schedule=cosine rate=1e-3 warmup=200 epochs=0 "
     "batch-tokens=0 average=3"},

    {"rnn conv", "", "schedule=cosine rate=1e-3"},
    {"rnn conv", "files", "d-model=128 warmup=200 epochs=0 batch-tokens=0 average=3"},
    {"rnn", "files", "d-embed=128"},
    {"rnn conv", kSynthetic,
     "d-model=64 label-smoothing=0 batch-tokens=0 batch-sentences=40 rate=3e-3 warmup=50"},
    {"rnn conv", "phrasebook", "target-tokenizer=char epochs=24"},
    {"conv", "phrasebook", "layers=3 d-model=128 batch-tokens=1024 rate=2e-3 warmup=300"},
    {"conv", kSynthetic, "layers=3"},
    {"rnn", "", "layers=1"},
    {"rnn", "phrasebook names",
     "target-tokenizer=char d-embed=64 d-model=128 epochs=20 batch-tokens=1024 rate=2e-3 "
     "warmup=300"},
    {"rnn", "names", "target-tokenizer=mixed min-frequency=5 label-smoothing=0"},
    {"rnn", kSynthetic, "d-embed=32"},

    // nanoGPT's CPU recipe for a text by characters.
    {"gpt", "",
     "tokenizer=char layers=4 d-model=128 heads=4 d-ff=4D dropout=0 norm=pre activation=gelu "
     "tie=decoder "
     "positions=learned batch-tokens=0 batch-sentences=12 label-smoothing=0 optimizer=adamw "
     "beta2=0.99 "
     "epsilon=1e-8 weight-decay=0.1 schedule=cosine rate=1e-3 warmup=100 valid-every=250"},
    {"bert", "",
     "layers=2 d-model=128 heads=4 d-ff=4D norm=pre activation=gelu tie=decoder positions=learned "
     "epochs=30 batch-tokens=2048 label-smoothing=0 optimizer=adamw weight-decay=0.01 "
     "schedule=cosine "
     "rate=1e-3 warmup=200"},
    {"gpt", "files", "patience=20"},
    {"bert", "files", "epochs=0 batch-tokens=0"},
    {"classifier", "",
     "layers=1 d-model=128 heads=4 d-ff=2D dropout=0.5 word-dropout=0.5 norm=pre activation=gelu "
     "positions=learned epochs=0 batch-tokens=0 optimizer=adamw weight-decay=1 schedule=cosine "
     "rate=1e-3 warmup=100"},
    {"vit", "",
     "layers=4 d-model=64 heads=4 d-ff=4D epochs=30 batch-tokens=0 batch-sentences=64 "
     "optimizer=adamw "
     "weight-decay=0.01 schedule=cosine rate=2e-3 warmup=200"},
};

bool among(std::string_view names, const std::string& name) {
  for (std::string_view word : split_spaces(names))
    if (word == name) return true;
  return names.empty();
}

// std::logic_error for an unknown option or value.
void set(TrainOptions& o, std::string_view name, std::string_view value) {
  const bool taken = std::visit(
      [&]<class Field>(Field TrainOptions::*member) {
        Field& field = o.*member;
        if constexpr (std::is_same_v<Field, std::string>) {
          field = value;
          return true;
        } else if constexpr (!std::is_same_v<Field, bool>) {
          const char* last = value.data() + value.size();
          auto [end, error] = std::from_chars(value.data(), last, field);
          if (end != last && *end == 'D') field *= static_cast<Field>(o.d_model), ++end;
          return error == std::errc{} && end == last;
        }
        return false;
      },
      train_option(name).member);
  if (!taken) throw std::logic_error("preset: " + std::string(name) + "=" + std::string(value));
}

using Given = std::function<bool(const char*)>;
using Took = std::function<void(const std::string&, const std::string&)>;

// The options that are given decide which data are used.
void infer_task(TrainOptions& o, const Given& given, const Took& took) {
  if (given("task")) return;
  std::string because;
  for (const TrainOption& t : train_options())
    if (t.decides && t.name != "kind" && because.empty() && given(t.name.c_str()))
      because = "since --" + t.name + " is given";
  if (o.kind == "classifier" || o.kind == "vit") because = "all that --kind " + o.kind + " has";
  if (because.empty()) return;
  o.task = "files";
  took("task", because);
}

std::vector<std::string> yield_to_given(TrainOptions& o, const Given& given, const Took& took) {
  std::vector<std::string> notes;
  auto yields = [&](const std::string& name, auto& field, const auto& value,
                    const std::string& why) {
    if (field == value || given(name.c_str())) return;
    const std::string now = name == "target-tokenizer" ? o.tokenizer : fmt::format("{}", value);
    notes.push_back(fmt::format("--{} is {}, not {}: {}", name, now, field, why));
    field = value;
    took(name, why);
  };
  if (given("d-model") && train_option("heads").is_of(o.kind) && o.heads > 0) {
    Index heads = o.heads;
    while (o.d_model % heads != 0) --heads;
    yields("heads", o.heads, heads, "it must divide --d-model " + std::to_string(o.d_model));
  }
  if (given("shared-vocabulary") && o.shared_vocabulary && o.target_tokenizer != o.tokenizer &&
      !o.target_tokenizer.empty())
    yields("target-tokenizer", o.target_tokenizer, std::string(),
           "--shared-vocabulary has one tokenizer");
  if (given("noam-factor") && o.noam_factor > 0 && !given("rate"))
    o.rate = 0, took("rate", "--noam-factor says the peak");
  if (given("try-every") && o.try_every == 0)
    yields("enough", o.enough, 0.0, "it is measured every --try-every epochs");
  if (o.schedule != "constant" && o.max_steps > 0 && o.warmup >= o.max_steps && !given("warmup")) {
    const Index before = o.warmup;
    const std::string why = fmt::format("the run ends after --max-steps {}", o.max_steps);
    shorten_warmup(o, o.max_steps);
    notes.push_back(fmt::format("--warmup is {}, not {}: {}", o.warmup, before, why));
    took("warmup", why);
  }
  return notes;
}

}  // namespace

std::vector<std::string> apply_preset(TrainOptions& o, const Given& given, const Took& tell) {
  Took took = [&](const std::string& name, const std::string& origin) {
    if (tell) tell(name, origin);
  };
  infer_task(o, given, took);
  for (const Preset& preset : kPresets) {
    if (!among(preset.kinds, o.kind) || !among(preset.tasks, o.task)) continue;
    for (std::string_view option : split_spaces(preset.options)) {
      const std::size_t equals = option.find('=');
      const std::string name(option.substr(0, equals));
      if (given(name.c_str())) continue;
      set(o, name, option.substr(equals + 1));
      took(name, *preset.tasks ? "recipe of --task " + o.task : "default of --kind " + o.kind);
    }
  }
  if (o.kind == "gpt") {
    if (!given("epochs")) {
      if (!given("max-steps")) o.max_steps = 2000, took("max-steps", "default of --kind gpt");
      o.epochs = 1000, took("epochs", "default of --kind gpt");
    }
    // nanoGPT's 0.02 suits its wide models; this keeps the variance of a product of any width.
    if (!given("init")) {
      o.init = 1 / std::sqrt(static_cast<double>(o.d_model));
      took("init", "default of --kind gpt");
    }
  }
  return yield_to_given(o, given, took);
}

}  // namespace glim
