#include "tools/cli/example_options.hpp"

#include "tensor/error.hpp"
#include "tools/train/option_list.hpp"
#include "tools/train/presets.hpp"

namespace glim {

void add_example_options(Command& command, ExampleOptions& options) {
  command.option("model", &options.model, "folder of a model, or one of its files");
  command.option("fresh", &options.init, "a fresh model instead, with these sizes:");
  for (const TrainOption& t : train_options())
    if (t.fresh) command.option(t, options.fresh).group = "Fresh model";
  Option& sentence =
      command.option("sentence", &options.source, "sentence to read (without: one of the task's)");
  sentence.group = "";
  command.option("translation", &options.target,
                 "its translation (without: the task's, or a trained model's own)");
  command.option(
      "hide", &options.hide,
      "tokens of the sentence that a bert has to guess, <s> being token 0: 3, or 3=cat to "
      "show cat there (without: the middle one)");
  command.option(
      "label", &options.label,
      "the class to look at, of a classifier or a vit (without: a trained model's own answer, a "
      "fresh one's 1)");
  command.option(
      "image", &options.image,
      "image for a vit: FILE.png, or FILE:N for image N of an IDX file, from 0 on (fresh: "
      "a drawn 1)");
  command.option(
      "paint", &options.paint,
      "pixels of the image that are changed: ROW,COLUMN=VALUE from 0 to 1, of all channels "
      "or CHANNEL,ROW,COLUMN=VALUE; * is every row or column");
  command.settle = [&options](Command& c) {
    apply_preset(options.fresh,
                 [&](const char* name) { return train_option(name).fresh && c.given(name); });
  };
}

void add_forward_changes(Command& command, Changes& changes) {
  Option& scale = command.option("scale", &changes.scale.emplace(1.0),
                                 "the factor of Q Kᵀ in the scores of every attention");
  scale.group = "Changes";
  scale.default_text = "1/√Dk";
  command.option("mask", &changes.mask,
                 "a query may not attend to a key: MODULE:QUERY,KEY, numbers from 0 on or *");
  command.option("unmask", &changes.unmask, "the same, and it may");
  command.option("label-smoothing", &changes.label_smoothing.emplace(0.0), "ε of the loss", kShare)
      .default_text = "as in training";
  command.option("dropout", &changes.dropout, "with the model's dropout");
  command.option("remove-head", &changes.remove_heads,
                 "the context of these heads is 0: decoder.layers.1.multihead_attn:2");
  command.option("remove", &changes.remove,
                 "without a layer, or a part of it: encoder.layers.1, encoder.layers.1.norm2, "
                 "….skip2, ….sublayer2");
}

void check_example_options(const Command& command, ExampleOptions& options) {
  if (!command.given("scale")) options.changes.scale.reset();
  if (!command.given("label-smoothing")) options.changes.label_smoothing.reset();
  auto given = [&](const std::string& name) { return command.given(name); };
  if (!options.init)
    for (const TrainOption& t : train_options())
      if (t.fresh && given(t.name))
        throw ValueError("--" + t.name, "belongs to a fresh model: give --fresh, or leave it out");
  if (options.init && given("model"))
    throw ValueError("--model", "is a trained model, --fresh a fresh one: give one of them");
  for (auto [name, text] : {std::pair{"sentence", &options.source},
                            {"translation", &options.target},
                            {"label", &options.label},
                            {"image", &options.image}})
    if (given(name) && text->empty())
      throw ValueError(std::string("--") + name, std::string("the ") + name + " is empty");
}

}  // namespace glim
