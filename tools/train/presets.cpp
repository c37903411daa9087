#include "tools/train/presets.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "tools/common/toml.hpp"
#include "tools/train/option_list.hpp"

namespace glim {

extern const std::string_view kTrainPresets;  // presets.toml

namespace {

// Whether a table of presets.toml, "gpt, bert: files", is for this kind and task.
bool applies(const std::string& table, const TrainOptions& o) {
  const std::size_t colon = table.find(": ");
  return lists(table.substr(0, colon), o.kind) &&
         (colon == std::string::npos || lists(table.substr(colon + 2), o.task));
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
  if (lists("classifier, tagger, vit, cnn", o.kind)) because = "all that --kind " + o.kind + " has";
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
  static const auto presets = parse_toml(std::string(kTrainPresets), "presets.toml");
  for (const TomlEntry& e : presets) {
    if (e.is_table || !applies(e.table, o) || given(e.key.c_str())) continue;
    set(o, e.key, e.values[0]);
    took(e.key, e.table.find(':') != std::string::npos ? "recipe of --task " + o.task
                                                       : "default of --kind " + o.kind);
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

std::string choose_by_amount(TrainOptions& o, Index examples) {
  const double root = std::sqrt(static_cast<double>(std::max<Index>(examples, 1)));
  std::string chosen;
  if (o.epochs == 0) {
    o.epochs = std::clamp<Index>(std::llround(1000 / root), 5, 100);
    chosen = fmt::format("--epochs {}", o.epochs);
  }
  if (o.batch_tokens == 0 && o.batch_sentences == 0) {
    // √n / 2 is nearer to 2 B than to B, in powers of two, from n = 8 B² on.
    o.batch_sentences = 16;
    while (o.batch_sentences < 128 && examples >= 8 * o.batch_sentences * o.batch_sentences)
      o.batch_sentences *= 2;
    chosen += fmt::format("{}--batch-sentences {}", chosen.empty() ? "" : " ", o.batch_sentences);
  }
  return chosen.empty() ? "" : fmt::format("  chosen for {} examples: {}", examples, chosen);
}

}  // namespace glim
