#include "tools/cli/example_options.hpp"

#include "tensor/error.hpp"
#include "tools/kinds/presets.hpp"

namespace glim {

namespace {

// The sizes but for dropout, which has a meaning of its own here.
bool of_fresh_model(const Row& row) {
  const FromStart start = row.from_start.value_or(FromStart::Same);
  const bool shapes = start == FromStart::Same || start == FromStart::AtMost;
  return row.fresh || (row.group == std::string_view("Model") && shapes);
}

}  // namespace

void add_example_options(Command& command, ExampleOptions& options, bool backward) {
  auto add = [&](const Rows& rows, const char* group) {
    for (const Row& row : rows) command.option(row).group = group;
  };
  add(options.rows(), "");
  add(options.changes.forward_rows(), "Changes");
  if (backward) add(options.changes.backward_rows(), "Changes");
  command.option("fresh", &options.init, "a fresh model instead, with these sizes:").group =
      "Fresh model";
  const std::size_t before = command.options.size();
  add_training_options(command, options.fresh, of_fresh_model);
  for (std::size_t i = before; i < command.options.size(); ++i)
    command.options[i].group = "Fresh model";
  command.adjust = [&options](Command& c) {
    c.choose_kind(options.fresh.kind);
    apply_preset(options.fresh, [&](const std::string& name) {
      const Option* o = c.find(name);  // dropout and label-smoothing are changes of a pass here
      return o && o->group == "Fresh model" && o->is_set;
    });
  };
}

void check_example_options(const Command& command, const ExampleOptions& options) {
  auto is_set = [&](const std::string& name) { return command.given(name); };
  if (!options.init)
    for (const Option& o : command.options)
      if (o.group == "Fresh model" && o.name != "fresh" && o.is_set)
        throw ValueError("--" + o.name, "belongs to a fresh model: give --fresh, or leave it out");
  if (options.init && is_set("model"))
    throw ValueError("--model", "is a trained model, --fresh a fresh one: give one of them");
  for (auto [name, text] : {std::pair{"sentence", &options.source},
                            {"translation", &options.target},
                            {"label", &options.label},
                            {"image", &options.image}})
    if (is_set(name) && text->empty())
      throw ValueError(std::string("--") + name, std::string("the ") + name + " is empty");
}

}  // namespace glim
