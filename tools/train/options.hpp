// Everything that a training run depends on. It is saved with the model, as JSON for the program and as TOML
// for people. Together with the data it determines the final weights to the bit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/schedule.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace glim {

inline constexpr Index kMostShards = 1024;

struct TrainOptions {
#define GROUP(name)
#define OPTION(type, member, value, ...) type member = value;
#include "tools/train/option_table.hpp"

  std::string to_json() const;
  std::string to_toml() const;  // as `glim train --config` reads it
  // ValueError naming the option that is missing or has the wrong type; `where` is the file.
  static TrainOptions from_json(const std::string& text, const std::string& where);
};

// ValueError, naming the option, for values that make no sense or contradict each other.
void check(const TrainOptions& options);              // the options of every kind
void check_translation(const TrainOptions& options);  // the options that name sentence pairs
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
