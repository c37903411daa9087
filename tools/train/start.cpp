#include "tools/train/start.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tensor/error.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/train/option_list.hpp"

namespace glim {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}
// Those that may differ from the model's.
bool may_differ(std::string_view name) {
  return is_one_of(name, {"dropout", "attention-dropout", "activation-dropout", "label-smoothing"});
}
bool is_limit(std::string_view name) { return is_one_of(name, {"max-length", "block"}); }

std::string key_in_json(std::string_view option) {
  std::string key(option);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace

bool said_by_start(const std::string& option) {
  bool model = false;
  TrainOptions any;
  each_option(any, [&](const OptionText& t, auto&) {
    model = model || (t.name == option && t.group == std::string_view("Model"));
  });
  return model || is_limit(option) ||
         is_one_of(option, {"tokenizer", "target-tokenizer", "shared-vocabulary", "vocabulary",
                            "min-frequency", "label-smoothing"});
}

std::unique_ptr<Start> starting_model(TrainOptions& o,
                                      const std::function<bool(const char*)>& given) {
  if (o.init_from.empty()) return nullptr;
  auto start = std::make_unique<Start>();
  start->file = model_file(o.init_from);
  start->checkpoint = load_checkpoint(start->file);
  Checkpoint& c = start->checkpoint;
  if (!given("kind")) o.kind = c.kind;
  if (o.kind == "classifier" && c.kind == "bert") return nullptr;
  if (o.kind != c.kind)
    throw FileError(start->file,
                    fmt::format("holds a model of kind '{}'; --init-from needs one of kind '{}'{}",
                                c.kind, o.kind, o.kind == "classifier" ? " or 'bert'" : ""));
  auto mine = nlohmann::json::parse(o.to_json()), its = nlohmann::json::parse(c.options.to_json());
  auto model = parse_json(c.described("model", start->file), false);
  each_option(o, [&](const OptionText& t, auto&) {
    if (!said_by_start(t.name)) return;
    std::string key = key_in_json(t.name);
    bool keep = given(t.name) && (may_differ(t.name) || mine[key] == its[key] ||
                                  (is_limit(t.name) && mine[key] < its[key]));
    if (given(t.name) && !keep)
      throw ValueError(
          "--" + std::string(t.name),
          fmt::format("{} has {}, and a run that begins with it {}; leave the option out",
                      o.init_from, its[key].dump(),
                      is_limit(t.name) ? "can have less, not more" : "has the same"));
    if (!keep) mine[key] = its[key];
    if (may_differ(t.name) && model.is_object() && model.contains(key)) model[key] = mine[key];
  });
  c.description["model"] = model.is_object() ? model.dump() : c.description["model"];
  o = TrainOptions::from_json(mine.dump(), start->file);
  return start;
}

void load_start(Module& model, const Start& start) {
  try {
    model.load_state_dict(start.checkpoint.weights);
  } catch (const Error& e) {
    throw FileError(start.file, e.one_line());
  }
}

}  // namespace glim
