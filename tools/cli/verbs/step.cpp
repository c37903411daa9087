// glim step: a debugger for one backward pass. A model, trained or fresh, reads one example;
// its loss is recorded explicitly, every intermediate a node; commands take the pass node by node.
// `help` lists them.
#include <fmt/format.h>
#include <memory>

#include "tensor/system/process.hpp"
#include "tools/cli/example_options.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/inspect/debugger/prompt.hpp"
#include "tools/inspect/lettered.hpp"

namespace glim {
namespace {

void run_step(const ExampleOptions& options) {
  const auto made = make_example(options);
  Example& example = *made;
  Pass pass([&] { return example.loss(); });
  const bool one_text = example.source.empty();
  print(fmt::format("{}\n  {}: {}\n  target: {}\n  loss {:.6g}, {} nodes; `help` lists commands\n",
                    example.heading(), one_text ? "text" : "source",
                    fmt::join(one_text ? example.target_in : example.source, " "),
                    fmt::join(example.target_out, " "), pass.loss_value(), pass.size()));
  bool terminal = is_terminal(0) && is_terminal(1);
  step::Debugger debugger(
      pass,
      [](const std::string& text) {
        print(text);
        print_flush();
      },
      step::interrupted, [&] { return lettered_pass(options, example, pass); });
  debugger.show_place();
  if (int status = step::converse(debugger, terminal)) throw Exit(status);
}

}  // namespace

Command step_command() {
  Command c("step", "a debugger for the backward pass, node by node");
  c.always_writes = true;
  auto options = std::make_shared<ExampleOptions>();
  add_example_options(c, *options, false);
  c.footer =
      "Commands come from standard input: at a terminal with editing, history and\n"
      "completion, otherwise as a script. `help` lists them.\n"
      "  echo 'help' | glim step --fresh";
  c.run = [options](Command& command) {
    check_example_options(command, *options);
    run_step(*options);
  };
  return c;
}

}  // namespace glim
