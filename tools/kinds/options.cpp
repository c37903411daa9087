#include "tools/kinds/options.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "models/decoding/scheduled_sampling.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/simd/isa.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/nearest.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {

namespace {

const std::vector<std::string> kTokenizers = {"word", "char", "mixed", "sentencepiece-bpe",
                                              "sentencepiece-unigram"};

[[noreturn]] void fail(const std::string& option, const std::string& problem) {
  throw ValueError("--" + dashed(option), problem);
}

void check_values(TrainOptions o) {
  for (const Row& row : o.rows()) {
    if (const auto* text = std::get_if<std::string*>(&row.field);
        text && first_invalid_utf8(**text))
      fail(row.key(), "'" + **text + "' is not UTF-8");  // checkpoints are
    std::string problem = refused(row);
    if (problem.empty()) continue;
    if (!row.names().empty()) problem += did_you_mean(stored(row).get<std::string>(), row.names());
    fail(row.key(), problem);
  }
}

// A model of float32 computes with what float32 makes of a number.
void check_rounded(TrainOptions o) {
  if (o.precision != "float32") return;
  for (const Row& row : o.rows()) {
    const auto* number = std::get_if<double*>(&row.field);
    const std::string_view group = row.group;
    if (!number || (group != "Model" && group != "Training")) continue;
    const double rounded = static_cast<float>(**number);
    if ((rounded == 0 && **number != 0) || !row.range.refuse(rounded).empty())
      fail(row.key(), fmt::format("{} is {} in float32; --precision float64 computes with it",
                                  **number, rounded));
  }
}

// An option that its kind does not have would be ignored.
void check_kind(TrainOptions o) {
  TrainOptions defaults;
  const Kind& kind = kind_named(o.kind);
  if (kind.tasks.size() > 1) one_of("task", o.task, kind.tasks);
  const Rows usual = defaults.table(), rows = o.table();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!kind.has(rows[i].key()) && stored(rows[i]) != stored(usual[i]))
      fail(rows[i].key(), not_an_option_of(kind, rows[i].key()));
  if (const auto base = o.value("position_base");
      !base.is_null() && o.value("positions") != "sinusoidal" && base != 10000)
    fail("position_base", "is that of --positions sinusoidal; --positions " +
                              o.value("positions").get<std::string>() + " has none");
}

}  // namespace

std::string dashed(std::string key) {
  std::ranges::replace(key, '_', '-');
  return key;
}

TrainOptions::TrainOptions() {
  for (const Kind* each : kinds()) sizes.emplace(each->name, each->sizes);
}

Rows TrainOptions::table() {
  std::vector<std::string> kind_list;
  for (const Kind* k : kinds()) kind_list.push_back(k->name);
  const char* group = nullptr;
  Rows rows;
#define GROUP(name) group = name;
#define OPTION(type, member, value, what, ...)                                          \
  rows.push_back({.name = #member, .field = &this->member, .help = what, __VA_ARGS__}); \
  rows.back().group = group;
#include "tools/kinds/option_table.hpp"
  return rows;
}

Rows TrainOptions::rows() {
  const Kind& its = kind_named(kind);
  Rows rows;
  bool sized = false;
  for (Row& row : table()) {
    if (!sized && row.group == std::string_view("Model")) {
      sized = true;
      for (Row& size : sizes.at(kind).rows())
        if (!size.help.empty()) rows.push_back(std::move(size));
    }
    if (its.has(row.key())) rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::json TrainOptions::value(std::string_view key) const {
  TrainOptions copy = *this;
  for (const Row& row : copy.rows())
    if (row.key() == key) return stored(row);
  return nullptr;
}

double TrainOptions::number(std::string_view key) const {
  const nlohmann::json found = value(key);
  return found.is_number() ? found.get<double>() : 0;
}

TrainOptions& TrainOptions::set(std::string_view key, const nlohmann::json& value) {
  for (const Row& row : rows())
    if (row.key() == key) {
      restore(row, value);
      return *this;
    }
  throw std::logic_error("a " + kind + " has no option " + std::string(key));
}

std::string TrainOptions::to_json() const {
  auto j = nlohmann::ordered_json::object();
  TrainOptions copy = *this;
  for (const Row& row : copy.rows()) j[row.key()] = stored(row);
  return j.dump();
}

std::string TrainOptions::to_toml() const {
  std::string toml =
      "# The effective options of this run: glim train --config FILE takes them again.\n";
  toml += "# Kernels " + std::string(name_of(best_isa())) + " (GLIM_ISA).\n";
  TrainOptions copy = *this;
  for (const Row& row : copy.rows())
    if (const nlohmann::json value = stored(row); !value.is_null())
      toml += dashed(row.key()) + " = " + in_toml(value.dump()) + "\n";
  toml += "gemm = \"" + std::string(name_of(gemm_engine())) + "\"\n";
  toml += "matmul-precision = \"" + std::string(name_of(float32_matmul_precision())) + "\"\n";
  return toml;
}

TrainOptions TrainOptions::from_json(const std::string& text, const std::string& where) {
  const auto its_kind =
      read_json(text, R"({"kind": "transformer"})", where, "training options",
                [](const auto& j) { return j.at("kind").template get<std::string>(); });
  TrainOptions o;
  o.kind = its_kind;
  return read_json(text, o.to_json(), where, "training options", [&](const auto& j) {
    for (const Row& row : o.rows()) restore(row, j.at(row.key()));
    check_values(o);
    return o;
  });
}

TrainOptions trained_options(const ModelFile& file) {
  return TrainOptions::from_json(file.run.at("options"), file.file);
}

void shorten_warmup(TrainOptions& o, Index updates) {
  if (o.schedule == "noam" && o.rate == 0) {
    o.rate = make_schedule(o, updates).peak();
    o.noam_factor = 0;
  }
  o.warmup = updates / 10;
}

void check_vocabulary(const TrainOptions& o) {
  if (!o.vocabulary_file.empty() && o.vocabulary > 0)
    fail("vocabulary", "limits a vocabulary that is learned: leave it out with --vocabulary-file");
  if (!o.target_vocabulary_file.empty() && o.vocabulary_file.empty())
    fail("target-vocabulary-file", "needs --vocabulary-file for the source side");
  if (!o.target_vocabulary_file.empty() && o.shared_vocabulary)
    fail("target-vocabulary-file", "contradicts --shared-vocabulary");
}

void check_translation(const TrainOptions& o) {
  bool files = o.task == "files", table = !o.pairs.empty();
  if (table && !(o.source.empty() && o.target.empty()))
    fail("pairs", "has both sides: leave out --source and --target");
  if (files && !table && (o.source.empty() || o.target.empty()))
    fail(o.source.empty() ? "source" : "target",
         "both training files are needed, --source FILE and --target FILE, or --pairs FILE with "
         "both");
  if (!files && !(o.source.empty() && o.target.empty() && o.valid_source.empty() &&
                  o.valid_target.empty() && !table && o.valid_pairs.empty()))
    fail("task", "'" + o.task + "' makes its own data: leave out --task, or the files");
  if (!o.columns.empty() && !table && o.valid_pairs.empty())
    fail("columns", "names those of --pairs FILE");
  if (!o.valid_pairs.empty() && !o.valid_source.empty())
    fail("valid-pairs", "has both sides: leave out --valid-source and --valid-target");
  if (o.valid_source.empty() != o.valid_target.empty())
    fail(o.valid_source.empty() ? "valid-source" : "valid-target",
         "both validation files are needed, or neither");
  if (o.shared_vocabulary && !o.target_tokenizer.empty() && o.target_tokenizer != o.tokenizer)
    fail("shared-vocabulary", "contradicts --target-tokenizer: one vocabulary has one tokenizer");
  if (o.value("tie") == "all" && !o.shared_vocabulary)
    fail("tie", "'all' needs --shared-vocabulary: source and target must have the same tokens");
  if (o.value("copy") == true && (o.tokenizer.rfind("sentencepiece", 0) == 0 ||
                                  o.target_tokenizer.rfind("sentencepiece", 0) == 0))
    fail("copy", "needs tokens that are words of the text: --tokenizer word, char or mixed");
}

void check_rows(const TrainOptions& o) {
  check_values(o);
  check_kind(o);
}

void check(const TrainOptions& o) {
  check_rows(o);
  check_rounded(o);
  check_vocabulary(o);
  if (const auto heads = o.value("heads"), width = o.value("d_model"); !heads.is_null())
    if (width.get<Index>() % heads.get<Index>() != 0)
      fail("heads", heads.dump() + " heads do not divide d_model " + width.dump());
  if (const auto kv = o.value("kv_heads"), heads = o.value("heads"); kv.is_number() && kv != 0)
    if (heads.get<Index>() % kv.get<Index>() != 0)
      fail("kv-heads", heads.dump() + " heads cannot share " + kv.dump() + " of keys and values");
  if (!std::has_single_bit(static_cast<std::uint64_t>(o.shards)) || o.shards > kMostShards)
    fail("shards", fmt::format("must be a power of two up to {}, not {}", kMostShards, o.shards));
  if (!o.record && o.record_every != 0)
    fail("record-every", "needs --record: nothing is recorded without");
  if (!o.record && o.record_curvature)
    fail("record-curvature", "needs --record: nothing is recorded without");
  if (o.enough > 0 && o.try_every == 0)
    fail("enough", "needs --try-every N: it is measured every N epochs");
  if (o.valid_share > 0 && o.task != "files")
    fail("valid-share", "'" + o.task + "' has its own data to validate on");
  for (const std::string* other : {&o.valid_source, &o.valid_pairs, &o.valid_text,
                                   &o.valid_labelled, &o.valid_images, &o.valid_image_folder})
    if (o.valid_share > 0 && !other->empty())
      fail("valid-share",
           "is taken of the training data, but " + *other + " is there to validate on");
  if (o.noam_factor > 0 && o.schedule != "noam") fail("noam-factor", "needs --schedule noam");
  if (o.noam_factor > 0 && o.rate > 0)
    fail("noam-factor", "and --rate both say the peak learning rate: give one of them");
  constexpr double kNoPeak = 0.1;  // as a factor is
  if (o.schedule == "noam" && o.rate >= kNoPeak)
    fail("rate", fmt::format("is the peak learning rate, and {} is too large for one: the factor "
                             "of --schedule noam is --noam-factor {}",
                             o.rate, o.rate));
  if (o.freeze_embeddings && o.embeddings.empty())
    fail("freeze-embeddings", "needs --embeddings FILE: nothing else is worth keeping");
  if (!o.embeddings.empty() && !o.init_from.empty())
    fail("embeddings", "begin a new model; " + o.init_from + " has its own");
}

void one_of(const std::string& option, const std::string& value,
            const std::vector<std::string>& known) {
  if (std::ranges::find(known, value) != known.end()) return;
  fail(option, known.size() == 1
                   ? fmt::format("can only be {} for this kind of model, not '{}'", known[0], value)
                   : fmt::format("'{}' is not one of {}{}", value, fmt::join(known, ", "),
                                 did_you_mean(value, known)));
}

Index log_interval(Index chosen, Index total_steps) {
  return chosen > 0 ? chosen : std::clamp<Index>(total_steps / 20, 1, 50);
}

Schedule make_schedule(const TrainOptions& o, Index total_steps) {
  if (o.schedule == "noam") {
    double factor = o.noam_factor > 0 ? o.noam_factor : 1;
    if (o.rate > 0)  // (the schedule reads a warm-up of 0 as 1)
      factor = o.rate *
               std::sqrt(o.number("d_model") * static_cast<double>(std::max<Index>(o.warmup, 1)));
    return noam_schedule(static_cast<Index>(o.number("d_model")), o.warmup, factor);
  }
  const double rate = o.rate > 0 ? o.rate : 5e-4;
  if (o.schedule == "inverse-sqrt") return inverse_sqrt_schedule(rate, o.warmup);
  if (o.schedule == "cosine")  // a run may end within the warm-up
    return cosine_schedule(rate, o.warmup, std::max(total_steps, o.warmup + 1), 0.1 * rate);
  return constant_schedule(rate);
}

TokenizerOptions tokenizer_options(const TrainOptions& o, bool target) {
  const std::string& name =
      target && !o.target_tokenizer.empty() ? o.target_tokenizer : o.tokenizer;
  TokenizerOptions t;
  t.min_frequency = o.min_frequency;
  t.max_size = o.vocabulary;
  t.vocabulary_file =
      target && !o.target_vocabulary_file.empty() ? o.target_vocabulary_file : o.vocabulary_file;
  t.kind = name;
  if (name.rfind("sentencepiece-", 0) == 0) {
    t.kind = "sentencepiece";
    t.model = name.substr(14);
    if (o.vocabulary > 0) t.vocabulary_size = o.vocabulary;
  }
  return t;
}

void note_smaller_vocabulary(const TrainOptions& o, bool target, const Tokenizer& tokenizer,
                             std::vector<std::string>& lines) {
  const TokenizerOptions spec = tokenizer_options(o, target);
  if (spec.kind == "sentencepiece" && spec.vocabulary_file.empty() && o.init_from.empty() &&
      tokenizer.size() < spec.vocabulary_size)
    lines.push_back(fmt::format("note: --vocabulary is {}, not {}: the {}text has no more subwords",
                                tokenizer.size(), spec.vocabulary_size, target ? "target " : ""));
}

}  // namespace glim
