// glim average: one model whose weights are the mean of several checkpoints'.
#include <memory>

#include "optim/averaging.hpp"
#include "tensor/error.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {

Command average_command() {
  struct AverageArguments {
    std::vector<std::string> files;
    std::string out;
  };
  Command c("average", "average the weights of checkpoints");
  auto a = std::make_shared<AverageArguments>();
  c.argument("checkpoints", &a->files, "files of one run").required = true;
  c.option("out", &a->out, "file of the model with the mean weights").required = true;
  c.run = [a](Command&) {
    std::vector<StateDict> states;
    Checkpoint first;
    for (const std::string& f : a->files) {
      Checkpoint next = load_checkpoint(f);
      if (!states.empty() && (next.kind != first.kind || next.description != first.description))
        throw FileError(f, "describes a different model than " + a->files[0]);
      states.push_back(next.weights);
      if (states.size() == 1) first = std::move(next);
    }
    first.weights = average(states);
    first.optimizer.clear();
    save_checkpoint(a->out, first);
    say("the mean of " + std::to_string(states.size()) + " checkpoints is in " + a->out);
  };
  return c;
}

}  // namespace glim
