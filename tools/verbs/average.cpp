// glim average: one model whose weights are the mean of several checkpoints'.
#include <memory>

#include "optim/averaging.hpp"
#include "tensor/error.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/verbs/verbs.hpp"

namespace glim {

void add_average(CLI::App& app) {
  struct Arguments {
    std::vector<std::string> files;
    std::string out;
  };
  CLI::App* verb = app.add_subcommand("average", "average the weights of checkpoints");
  auto a = std::make_shared<Arguments>();
  verb->add_option("checkpoints", a->files, "files of one run")->required();
  verb->add_option("--out", a->out, "file to write")->required();
  verb->callback([a] {
    std::vector<StateDict> states;
    Checkpoint first;
    for (const std::string& f : a->files) {
      Checkpoint c = load_checkpoint(f);
      if (!states.empty() && (c.kind != first.kind || c.description != first.description))
        throw FileError(f, "describes another model than " + a->files[0]);
      states.push_back(c.weights);
      if (states.size() == 1) first = std::move(c);
    }
    first.weights = average(states);
    first.optimizer.clear();
    save_checkpoint(a->out, first);
    print_line("the mean of " + std::to_string(states.size()) + " checkpoints lies in " + a->out);
  });
}

}  // namespace glim
