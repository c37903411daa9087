#include "tools/cli/example_options.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tools/train/option_list.hpp"
#include "tools/train/presets.hpp"

namespace glim {
namespace {

// Of the options of a training run those that a model's first weights depend on.
const std::vector<std::string> kOfFreshModels = {
    "kind", "task",      "layers", "decoder-layers", "d-model",    "heads", "d-ff",
    "norm", "cell",      "tie",    "kernel",         "activation", "copy",  "positions",
    "seed", "attention", "length"};

bool of_fresh_models(const std::string& name) {
  return std::find(kOfFreshModels.begin(), kOfFreshModels.end(), name) != kOfFreshModels.end();
}

}  // namespace

void add_example_options(Command& command, ExampleOptions& options) {
  command.option("model", &options.model, "folder or file of a trained model");
  command.option("init", &options.init, "a fresh model instead, with these sizes:");
  each_option(options.fresh, [&](const OptionText& t, auto& field) {
    if (of_fresh_models(t.name))
      command.option(t.name, &field, t.help, t.range).group = "Fresh model";
  });
  command.option("source", &options.source, "sentence to read (default: one of the task's)").group =
      "";
  command.option("target", &options.target,
                 "its translation (default: the model's own, or the task's)");
}

void finish_example_options(const Command& command, ExampleOptions& options) {
  auto given = [&](const std::string& name) { return command.given(name); };
  if (!options.init)
    for (const std::string& name : kOfFreshModels)
      if (given(name))
        throw ValueError("--" + name, "belongs to a fresh model: give --init, or leave it out");
  if (options.init && given("model"))
    throw ValueError("--model", "is a trained model, --init a fresh one: give one of them");
  for (const char* side : {"source", "target"})
    if (given(side) && (side == std::string("source") ? options.source : options.target).empty())
      throw ValueError(std::string("--") + side, "the sentence is empty");
  apply_preset(options.fresh,
               [&](const char* name) { return of_fresh_models(name) && given(name); });
}

}  // namespace glim
