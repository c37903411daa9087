#include "tools/train/option_list.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tensor/error.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/option_names.hpp"

namespace glim {
namespace {

std::vector<TrainOption> make_table() {
  const std::vector<std::string> kTokenizers = {"word", "char", "mixed", "sentencepiece-bpe",
                                                "sentencepiece-unigram"};
  const std::string kSequence = "transformer, rnn, conv, non-autoregressive",
                    kAttentive = "transformer, non-autoregressive", kImages = "vit, cnn",
                    kText = kSequence + ", gpt, bert, classifier, tagger", kEvery = kind_names();
  std::vector<std::string> kind_list;
  for (const Kind& k : kinds()) kind_list.push_back(k.name);
  const char* group = nullptr;
  std::vector<TrainOption> table;
#define GROUP(name) group = name;
#define OPTION(type, field, value, what, ...) \
  table.push_back(                            \
      {.key = #field, .help = what, .group = group, .member = &TrainOptions::field, __VA_ARGS__});
#include "tools/train/option_table.hpp"
  return table;
}

}  // namespace

const std::vector<TrainOption>& train_options() {
  static const std::vector<TrainOption> table = make_table();
  return table;
}

const TrainOption& train_option(std::string_view name) {
  for (const TrainOption& t : train_options())
    if (t.name == name) return t;
  throw std::logic_error("training has no option --" + std::string(name));
}

std::string TrainOption::dashed(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

bool TrainOption::is_of(const std::string& kind) const {
  return kinds.empty() || lists(kinds, kind);
}

nlohmann::json TrainOption::json(const TrainOptions& options) const {
  return std::visit([&](auto field) { return nlohmann::json(options.*field); }, member);
}

bool TrainOption::same(const TrainOptions& a, const TrainOptions& b) const {
  return std::visit([&](auto field) { return a.*field == b.*field; }, member);
}

void TrainOption::copy(const TrainOptions& from, TrainOptions& to) const {
  std::visit([&](auto field) { to.*field = from.*field; }, member);
}

bool lists(const std::string& list, const std::string& name) {
  return (", " + list + ", ").find(", " + name + ", ") != std::string::npos;
}

std::string not_an_option_of(const std::string& kind, const std::string& owners) {
  return fmt::format("is no option of --kind {}; it belongs to --kind {}", kind, owners);
}

void reject_unknown(const TrainOptions& o) {
  const TrainOptions defaults;
  for (const TrainOption& t : train_options())
    if (!t.is_of(o.kind) && !t.same(o, defaults))
      throw ValueError("--" + t.name, not_an_option_of(o.kind, t.kinds));
  if (o.positions != "sinusoidal" && o.position_base != defaults.position_base)
    throw ValueError("--position-base",
                     "is that of --positions sinusoidal; --positions " + o.positions + " has none");
}

}  // namespace glim
