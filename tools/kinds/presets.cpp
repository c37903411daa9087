#include "tools/kinds/presets.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "tools/common/ascii.hpp"
#include "tools/common/number.hpp"
#include "tools/common/toml.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

// True if a table ("copy, reverse") is for this task. The settings before the tables are for all.
bool applies(const std::string& table, const std::string& task) {
  return table.empty() || (", " + table + ", ").find(", " + task + ", ") != std::string::npos;
}

// A value such as "4D" is that many times the width. std::logic_error for an unknown option or value.
void set(TrainOptions& o, const std::string& name, std::string value) {
  if (value.size() > 1 && value.back() == 'D' && is_digit(value.front()))
    value = fmt::format(
        "{}", *number_in<double>(value.substr(0, value.size() - 1)) * o.number("d_model"));
  for (const Row& row : o.rows())
    if (dashed(row.key()) == name) {
      if (const std::string problem = assign(row, value); problem.empty()) return;
    }
  throw std::logic_error("settings of " + o.kind + ": " + name + " = " + value);
}

// The options that are given decide which data are used.
void infer_task(TrainOptions& o, const OptionGiven& is_set, const OptionTook& took) {
  if (is_set("task")) return;
  std::string because;
  for (const Row& row : o.table())
    if (const std::string name = dashed(row.key());
        row.decides && name != "kind" && because.empty() && is_set(name))
      because = "since --" + name + " is given";
  if (kind_named(o.kind).tasks == std::vector<std::string>{"files"})
    because = "all that --kind " + o.kind + " has";
  if (because.empty()) return;
  o.task = "files";
  took("task", because);
}

std::vector<std::string> yield_to_given(TrainOptions& o, const OptionGiven& is_set,
                                        const OptionTook& took) {
  std::vector<std::string> notes;
  auto yields = [&](const std::string& name, const nlohmann::json& value, const std::string& why) {
    std::string key = name;
    std::ranges::replace(key, '-', '_');
    const nlohmann::json now = o.value(key);
    if (now == value || is_set(name)) return;
    auto text = [](const nlohmann::json& x) {
      return x.is_string()         ? x.get<std::string>()
             : x.is_number_float() ? fmt::format("{}", x.get<double>())
                                   : x.dump();
    };
    notes.push_back(fmt::format("--{} is {}, not {}: {}", name,
                                name == "target-tokenizer" ? o.tokenizer : text(value), text(now),
                                why));
    o.set(key, value);
    took(name, why);
  };
  if (const nlohmann::json its = o.value("heads"); is_set("d-model") && !its.is_null()) {
    const auto width = o.value("d_model").get<Index>();
    auto heads = its.get<Index>();
    while (heads > 0 && width % heads != 0) --heads;
    yields("heads", heads, "it must divide --d-model " + std::to_string(width));
  }
  if (is_set("shared-vocabulary") && o.shared_vocabulary && o.target_tokenizer != o.tokenizer &&
      !o.target_tokenizer.empty())
    yields("target-tokenizer", "", "--shared-vocabulary has one tokenizer");
  if (is_set("noam-factor") && o.noam_factor > 0 && !is_set("rate"))
    o.rate = 0, took("rate", "--noam-factor says the peak");
  if (is_set("try-every") && o.try_every == 0)
    yields("enough", 0.0, "it is measured every --try-every epochs");
  if (o.schedule != "constant" && o.max_steps > 0 && o.warmup >= o.max_steps && !is_set("warmup")) {
    const Index before = o.warmup;
    const std::string why = fmt::format("the run ends after --max-steps {}", o.max_steps);
    shorten_warmup(o, o.max_steps);
    notes.push_back(fmt::format("--warmup is {}, not {}: {}", o.warmup, before, why));
    took("warmup", why);
  }
  return notes;
}

}  // namespace

std::vector<std::string> apply_preset(TrainOptions& o, const OptionGiven& is_set,
                                      const OptionTook& tell) {
  const OptionTook took = [&](const std::string& name, const std::string& origin) {
    if (tell) tell(name, origin);
  };
  const Kind& kind = kind_named(o.kind);
  infer_task(o, is_set, took);
  for (const TomlEntry& e : parse_toml(kind.settings, "settings of " + kind.name)) {
    if (e.is_table || !applies(e.table, o.task) || is_set(e.key)) continue;
    set(o, e.key, e.values[0]);
    took(e.key, e.table.empty() ? "default of --kind " + o.kind : "recipe of --task " + o.task);
  }
  if (kind.choose) kind.choose(o, is_set, took);
  return yield_to_given(o, is_set, took);
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
