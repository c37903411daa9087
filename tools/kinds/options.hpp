// Everything that a training run depends on: its data and its training, which this table states, and the sizes of its
// model, which are rows of its kind (kind.hpp). It is saved with the model, as JSON for the program and as TOML for people.
// Together with the data it determines the final weights to the bit.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/stored_rows.hpp"
#include "optim/schedule.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/data/tokenizers/training.hpp"
#include "tools/kinds/sizes.hpp"

namespace glim {

inline constexpr Index kMostShards = 1024;

struct TrainOptions {
#define GROUP(name)
#define OPTION(type, member, value, ...) type member = value;
#include "tools/kinds/option_table.hpp"

  std::map<std::string, ModelSizes, std::less<>> sizes;  // by kind; a run has those of its own

  TrainOptions();  // with the sizes that each kind usually has

  // The options that every kind, or some kind has: all but the sizes.
  Rows table();
  // The options that its kind has. In the order of the help.
  Rows rows();
  // An option of its kind by its key, "d_model"; null for another.
  nlohmann::json value(std::string_view key) const;
  double number(std::string_view key) const;  // 0 for another
  // The sizes as its kind has them.
  template <class Config>
  const Config& config() const {
    return sizes.at(kind).as<Config>();
  }
  // Sets an option of its kind. std::logic_error for another key.
  TrainOptions& set(std::string_view key, const nlohmann::json& value);

  std::string to_json() const;
  std::string to_toml() const;  // as `glim train --config` reads it
  // ValueError naming the option that is missing or has the wrong type; `where` is the file.
  static TrainOptions from_json(const std::string& text, const std::string& where);
};

// The options that a trained model's file has.
struct ModelFile;
TrainOptions trained_options(const ModelFile& file);

// "d-model", as the command line has d_model.
std::string dashed(std::string key);

// ValueError, naming the option, for values that make no sense or contradict each other.
void check(const TrainOptions& options);              // the options of every kind
void check_rows(const TrainOptions& options);         // each by itself, and that its kind has it
void check_translation(const TrainOptions& options);  // the options that name sentence pairs
// ValueError unless a text is one of `known`.
void one_of(const std::string& option, const std::string& value,
            const std::vector<std::string>& known);
// A warm-up that is a small part of `updates`. The peak rate stays.
void shorten_warmup(TrainOptions& options, Index updates);

// Steps between lines of the log, or between records: the chosen ones, or for 0 fifty, fewer where a run would
// have less than 20.
Index log_interval(Index chosen, Index total_steps);

// total_steps: for cosine.
Schedule make_schedule(const TrainOptions& o, Index total_steps);
TokenizerOptions tokenizer_options(const TrainOptions& o, bool target);
// Adds a line if the text had not enough subwords for the vocabulary that the options name.
void note_smaller_vocabulary(const TrainOptions& o, bool target, const Tokenizer& tokenizer,
                             std::vector<std::string>& lines);

}  // namespace glim
