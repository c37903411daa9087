#include "tools/train/presets.hpp"

#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <type_traits>

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

    {"rnn conv", "", "schedule=cosine rate=1e-3"},
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
    {"classifier", "",
     "layers=1 d-model=128 heads=4 d-ff=2D dropout=0.5 word-dropout=0.5 norm=pre activation=gelu "
     "positions=learned epochs=8 batch-tokens=1024 optimizer=adamw weight-decay=1 schedule=cosine "
     "rate=1e-3 warmup=100"},
    {"vit", "",
     "layers=4 d-model=64 heads=4 d-ff=4D epochs=30 batch-tokens=0 batch-sentences=64 "
     "optimizer=adamw "
     "weight-decay=0.01 schedule=cosine rate=2e-3 warmup=200"},
};

bool among(std::string_view names, const std::string& name) {
  std::istringstream words{std::string(names)};
  for (std::string word; words >> word;)
    if (word == name) return true;
  return names.empty();
}

// std::logic_error for what is no option, or no value of one.
void set(TrainOptions& o, std::string_view name, std::string_view value) {
  bool taken = false;
  each_option(o, [&](const OptionText& t, auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if (t.name != name) return;
    if constexpr (std::is_same_v<Field, std::string>) {
      field = value;
      taken = true;
    } else if constexpr (!std::is_same_v<Field, bool>) {
      const char* last = value.data() + value.size();
      auto [end, error] = std::from_chars(value.data(), last, field);
      if (end != last && *end == 'D') field *= static_cast<Field>(o.d_model), ++end;
      taken = error == std::errc{} && end == last;
    }
  });
  if (!taken) throw std::logic_error("preset: " + std::string(name) + "=" + std::string(value));
}

}  // namespace

void apply_preset(TrainOptions& o, const std::function<bool(const char*)>& given) {
  for (const Preset& preset : kPresets) {
    if (!among(preset.kinds, o.kind) || !among(preset.tasks, o.task)) continue;
    std::istringstream options(preset.options);
    for (std::string option; options >> option;) {
      std::size_t equals = option.find('=');
      std::string name = option.substr(0, equals);
      if (!given(name.c_str())) set(o, name, std::string_view(option).substr(equals + 1));
    }
  }
  if (o.kind != "gpt") return;
  if (!given("max-steps") && !given("epochs")) {
    o.max_steps = 2000;
    o.epochs = 1000;
  }
  // nanoGPT's 0.02 suits its wide models; this keeps the variance of a product of any width.
  if (!given("init")) o.init = 1 / std::sqrt(static_cast<double>(o.d_model));
}

}  // namespace glim
