#include "tools/cli/example_options.hpp"

#include "tensor/error.hpp"
#include "tools/inspect/example_list.hpp"
#include "tools/train/option_list.hpp"
#include "tools/train/presets.hpp"

namespace glim {

void add_example_options(Command& command, ExampleOptions& options, bool backward) {
  each_example_option(options,
                      [&]<class T>(Changed changed, const char* name, T& field, const char* help,
                                   const Range& range = {}, std::optional<std::string> shown = {}) {
                        if constexpr (std::is_constructible_v<Field, T*>) {
                          if (changed == Changed::Backward && !backward) return;
                          Option& o = command.option(name, &field, help, range);
                          o.group = changed == Changed::Nothing ? "" : "Changes";
                          o.default_text = shown;
                        }
                      });
  command.option("fresh", &options.init, "a fresh model instead, with these sizes:").group =
      "Fresh model";
  for (const TrainOption& t : train_options())
    if (t.fresh) command.option(t, options.fresh).group = "Fresh model";
  command.adjust = [&options](Command& c) {
    apply_preset(options.fresh,
                 [&](const char* name) { return train_option(name).fresh && c.given(name); });
  };
}

void check_example_options(const Command& command, const ExampleOptions& options) {
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
