// The options of an inspection as JSON: what a live page asks its module for, in the names of the command line.
//
//   {"sentence": "...", "translation": "...", "scale": 1, "mask": ["MODULE:2,0"], "zero": ["NODE"], ...}
//
// A fresh model is {"fresh": {"kind": "transformer", "layers": 2, ...}, ...}, with the defaults of its kind and task for
// what is not said; a trained one {"model": "FILE", ...}.
// Errors: ValueError naming the key, for one that is unknown, and for a value of another type or out of range.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/kinds/example.hpp"

namespace glim {

nlohmann::json request_of(const ExampleOptions& options);
ExampleOptions options_of(const nlohmann::json& request);
// The options of a training run, as "fresh" has them.
TrainOptions fresh_options(const nlohmann::json& request);

}  // namespace glim
