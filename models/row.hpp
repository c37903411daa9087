// A field of a struct as data: its name, the field, what it means and which values it may have. Every struct with settable
// fields lists them as rows: the sizes of a model, the options of a training run, of a verb, of an example. Command lines,
// files, requests of a page and keywords of Python are read by these rows.
//
//   struct GptConfig {
//     Index layers = 4;
//     Rows rows();                                  {{"layers", &layers, "layers", kPositive}, ...}
//   };
//   to_json(config)                               {"layers":4,...}
//   from_json<GptConfig>(text, file)              FileError naming the file, for other fields or values
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "models/range.hpp"
#include "nn/choice.hpp"

namespace glim {

// An enumerator as its name.
struct Choice {
  std::vector<std::string> names;  // that the field may have
  std::function<std::string()> get;
  std::function<void(const std::string&)> set;  // ValueError for a name that the enumeration lacks
};

// `allowed`: the values that a field may have, where not all.
template <class E>
Choice choice(E& field, const std::vector<E>& allowed = {}) {
  Choice c{{},
           [&field] { return kNames<E>.print(field); },
           [&field](const std::string& name) { field = kNames<E>.parse("", name); }};
  for (const auto& [name, value] : kNames<E>.list)
    if (allowed.empty() || std::ranges::find(allowed, value) != allowed.end())
      c.names.push_back(name);
  return c;
}

// A bool is a flag. An optional that is not given is null in a file.
using Field =
    std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::optional<double>*,
                 std::optional<bool>*, std::string*, std::vector<std::string>*, Choice>;

// An option of a run that begins with a trained model.
enum class FromStart {
  Same,     // the model's
  Free,     // any
  AtMost,   // the model's or less
  Default,  // the model's unless given
};

struct Row {
  std::string name;  // "d_model"
  Field field;
  std::string help = {};                  // none: no option sets it
  Range range = {};                       // a number's
  std::string option = {};                // the option that sets it, where another word is usual
  std::vector<std::string> choices = {};  // the only texts, where there are any
  // Facts of an option of training.
  const char* group = "Model";
  std::optional<FromStart> from_start = {};
  bool decides = false;  // the defaults of other options depend on it
  bool resumes = false;  // may change when a run is resumed: the updates so far do not depend on it
  bool fresh = false;    // an option of a fresh model that is looked at, too

  const std::string& key() const { return option.empty() ? name : option; }
  const std::vector<std::string>& names() const;  // the choices, also those of an enumeration
};
using Rows = std::vector<Row>;

inline Rows concatenated(Rows first, const Rows& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// Sets the field to the value that a text gives. Returns the problem, or an empty string if the field was set.
std::string assign(const Row& row, const std::string& text);
// Returns the problem of the field's value, "must be 1 or more, not 0", or an empty string if the value is allowed.
std::string refused(const Row& row);

std::string to_json(const Rows& rows);
// FileError naming `where` unless the text has each row, with a value of its type.
void from_json(const Rows& rows, const std::string& text, const std::string& where);
template <class Fields>
requires requires(Fields f) { f.rows(); }
std::string to_json(Fields fields) { return to_json(fields.rows()); }
template <class Fields>
Fields from_json(const std::string& text, const std::string& where) {
  Fields fields;
  from_json(fields.rows(), text, where);
  return fields;
}

}  // namespace glim
