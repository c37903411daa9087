// A kind of model, as `glim train --kind` names it: one file of this folder says all of it. What differs between kinds is
// a field here; nothing else compares their names (tests/tools/kinds/names.sh).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/pipeline/described.hpp"
#include "tools/kinds/learner.hpp"
#include "tools/kinds/presets.hpp"
#include "tools/kinds/sizes.hpp"

namespace glim {

class Example;
struct ExampleOptions;

// The least that a model and its training keep.
struct Least {
  double parameters = 0;
  double buffers = 0;  // numbers beside them
  double layers = 0;
};

struct Kind {
  std::string name;                  // of models/pipeline/described.hpp
  ModelSizes sizes;                  // as they usually are; their rows are options
  std::vector<std::string> options;  // of data and training, besides those of every kind
  std::vector<std::string> usual;    // options that the help shows first
  std::vector<std::string> tasks;    // that it learns
  // The options with which it trains well on two cores, as TOML: of every task, then tables of some tasks. Later
  // values override earlier ones; "4D" is four times the width.
  std::string settings = {};
  std::vector<std::string> example;         // options of an example that it reads
  std::vector<std::string> starts_of = {};  // kinds that a run may begin with, beside its own
  bool one_pass = false;                    // gives its whole output at once
  std::string compared = {};  // what a comparison with other kinds shows of it, in Markdown

  // Checks the options that are this kind's, reads the data, builds the model: anew, or with the tokenizers and sizes of a
  // file (the trainer loads its weights).
  std::unique_ptr<Learner> (*learner)(const TrainOptions& options, const ModelFile* init) = nullptr;
  // A model, and one example of its data to look at.
  void (*read)(Example& example, const ExampleOptions& options) = nullptr;
  Least (*least)(const TrainOptions& options) = nullptr;
  // The last word on options that nobody has given: `is_set` and `took` as in presets.hpp.
  void (*choose)(TrainOptions& options, const OptionGiven& is_set,
                 const OptionTook& took) = nullptr;

  bool has(std::string_view option) const;  // by its key: "d_model"
  Gives gives() const;                      // what a trained model gives a user
};

// Divided at spaces.
std::vector<std::string> words(std::string_view text);

const std::vector<const Kind*>& kinds();  // in the order of the help
// ValueError of --kind that lists the known kinds.
const Kind& kind_named(std::string_view name);
const Kind* find_kind(std::string_view name);                 // null if there is none
std::string names_of(const std::vector<const Kind*>& kinds);  // "transformer, rnn"
std::vector<const Kind*> kinds_that_give(std::initializer_list<Gives> these);
// The kinds that have an option, by its key: all, for one that none lists.
std::vector<const Kind*> kinds_with(std::string_view option);
// "is no option of --kind gpt; it belongs to --kind rnn".
std::string not_an_option_of(const Kind& kind, std::string_view option);

// A learner of options.kind, its random numbers seeded. ValueError for an unknown kind; FileError
// and ValueError as the kind says.
std::unique_ptr<Learner> make_learner(const TrainOptions& options, const ModelFile* init = nullptr);

}  // namespace glim
