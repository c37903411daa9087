#include "tools/train/options.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/simd/isa.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/nearest.hpp"
#include "tools/train/option_list.hpp"

namespace glim {

namespace {

[[noreturn]] void fail(const std::string& option, const std::string& problem) {
  throw ValueError("--" + option, problem);
}

void check_values(const TrainOptions& o) {
  each_option(o, [&](const TrainOption& t, const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, std::string>) {
      if (first_invalid_utf8(field))
        fail(t.name, "'" + field + "' is not UTF-8");  // checkpoints are
      // Where nothing is a choice, the field is empty unless given.
      if (!t.choices.empty() && !field.empty() &&
          std::find(t.choices.begin(), t.choices.end(), field) == t.choices.end())
        fail(t.name, fmt::format("'{}' is not one of {}{}", field, fmt::join(t.choices, ", "),
                                 did_you_mean(field, t.choices)));
    } else if (std::string problem = t.range.refuse(static_cast<double>(field)); !problem.empty()) {
      fail(t.name, fmt::format("{}, not {}", problem, field));
    }
  });
}

// A model of float32 computes with what float32 makes of a number.
void check_rounded(const TrainOptions& o) {
  if (o.precision != "float32") return;
  each_option(o, [&](const TrainOption& t, const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, double>) {
      const std::string_view group = t.group;
      const double rounded = static_cast<float>(field);
      if ((group == "Model" || group == "Training") &&
          ((rounded == 0 && field != 0) || !t.range.refuse(rounded).empty()))
        fail(t.name, fmt::format("{} is {} in float32; --precision float64 computes with it", field,
                                 rounded));
    }
  });
}

}  // namespace

std::string TrainOptions::to_json() const {
  auto j = nlohmann::ordered_json::object();
  for (const TrainOption& t : train_options()) j[t.key] = t.json(*this);
  return j.dump();
}

std::string TrainOptions::to_toml() const {
  std::string toml =
      "# The effective options of this run: glim train --config FILE takes them again.\n";
  toml += "# Kernels " + std::string(name_of(best_isa())) + " (GLIM_ISA).\n";
  for (const TrainOption& t : train_options())
    toml += t.name + " = " + in_toml(t.json(*this).dump()) + "\n";
  toml += "gemm = \"" + std::string(name_of(gemm_engine())) + "\"\n";
  return toml;
}

TrainOptions TrainOptions::from_json(const std::string& text, const std::string& where) {
  return read_json(text, TrainOptions{}.to_json(), where, "training options", [](const auto& j) {
    TrainOptions o;
    each_option(o, [&](const TrainOption& t, auto& field) { j.at(t.key).get_to(field); });
    check_values(o);
    return o;
  });
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
  if (o.tie == "all" && !o.shared_vocabulary)
    fail("tie", "'all' needs --shared-vocabulary: source and target must have the same tokens");
  if (o.copy && (o.tokenizer.rfind("sentencepiece", 0) == 0 ||
                 o.target_tokenizer.rfind("sentencepiece", 0) == 0))
    fail("copy", "needs tokens that are words of the text: --tokenizer word, char or mixed");
}

void check(const TrainOptions& o) {
  check_values(o);
  check_rounded(o);
  reject_unknown(o);
  check_vocabulary(o);
  if (train_option("heads").is_of(o.kind) && o.d_model % o.heads != 0)
    fail("heads",
         std::to_string(o.heads) + " heads do not divide d_model " + std::to_string(o.d_model));
  if (!std::has_single_bit(static_cast<std::uint64_t>(o.shards)) || o.shards > kMostShards)
    fail("shards", fmt::format("must be a power of two up to {}, not {}", kMostShards, o.shards));
  if (!o.record && o.record_every != 0)
    fail("record-every", "needs --record: nothing is recorded without");
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
  if (o.out.empty()) fail("out", "needs a folder");
}

Index log_interval(Index chosen, Index total_steps) {
  return chosen > 0 ? chosen : std::clamp<Index>(total_steps / 20, 1, 50);
}

Schedule make_schedule(const TrainOptions& o, Index total_steps) {
  if (o.schedule == "noam") {
    double factor = o.noam_factor > 0 ? o.noam_factor : 1;
    if (o.rate > 0)  // (the schedule reads a warm-up of 0 as 1)
      factor = o.rate * std::sqrt(static_cast<double>(o.d_model * std::max<Index>(o.warmup, 1)));
    return noam_schedule(o.d_model, o.warmup, factor);
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
  const TokenizerOptions asked = tokenizer_options(o, target);
  if (asked.kind == "sentencepiece" && asked.vocabulary_file.empty() && o.init_from.empty() &&
      tokenizer.size() < asked.vocabulary_size)
    lines.push_back(fmt::format("note: --vocabulary is {}, not {}: the {}text has no more subwords",
                                tokenizer.size(), asked.vocabulary_size, target ? "target " : ""));
}

}  // namespace glim
