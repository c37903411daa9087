// The options of a training run as a table, made of the rows of option_table.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tools/common/range.hpp"
#include "tools/train/options.hpp"

namespace glim {

// With --init-from an option is free, the same as the model's, at most the model's, or the model's unless given.
enum class FromStart { Free, Same, AtMost, Default };

struct TrainOption {
  std::string key;  // in a checkpoint: "d_model"
  const char *help, *group;
  std::variant<bool TrainOptions::*, Index TrainOptions::*, double TrainOptions::*,
               std::string TrainOptions::*>
      member;
  Range range = {};                       // of a number
  std::vector<std::string> choices = {};  // of a text that is one of a few
  std::string kinds = {};                 // that have it: "gpt, bert"; empty: all
  std::string usual = {};                 // kinds whose help shows it first
  FromStart from_start = group == std::string("Model") ? FromStart::Same : FromStart::Free;
  bool decides = false;  // the defaults of other options depend on it
  bool resumes = false;  // may change when a run is resumed: the updates so far do not depend on it
  bool fresh = false;    // the initial weights depend on it: an option of glim inspect --fresh
  std::string name = dashed(key);  // on the command line: "d-model"

  bool is_of(const std::string& kind) const;
  nlohmann::json json(const TrainOptions& options) const;
  bool same(const TrainOptions& a, const TrainOptions& b) const;
  void copy(const TrainOptions& from, TrainOptions& to) const;
  static std::string dashed(std::string key);
};

// In the order of the help.
const std::vector<TrainOption>& train_options();
// std::logic_error for an unknown name.
const TrainOption& train_option(std::string_view name);

// f(option, field) for each. `Options` may be const.
template <class Options, class F>
void each_option(Options& o, const F& f) {
  for (const TrainOption& t : train_options())
    std::visit([&](auto member) { f(t, o.*member); }, t.member);
}

// Whether "gpt, bert" names this one.
bool lists(const std::string& list, const std::string& name);

// "is no option of --kind gpt; it belongs to --kind rnn".
std::string not_an_option_of(const std::string& kind, const std::string& owners);

// ValueError if an option that options.kind or its positions do not have differs from its default: it would be ignored.
void reject_unknown(const TrainOptions& options);

}  // namespace glim
