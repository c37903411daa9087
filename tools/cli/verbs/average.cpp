// glim average: one model whose weights are the mean of several checkpoints'. The folder of a run means its
// epoch-N.safetensors.
#include <filesystem>
#include <memory>

#include "optim/averaging.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/folder.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {
namespace {

std::vector<std::string> files_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& a : arguments) {
    const std::size_t before = files.size();
    if (!std::filesystem::is_directory(a)) {
      files.push_back(a);
      continue;
    }
    for (const std::filesystem::path& p : entries_of(a))
      if (p.extension() == ".safetensors" && p.stem().string().starts_with("epoch-"))
        files.push_back(p.string());
    if (files.size() == before)
      throw FileError(a, "holds no epoch-N.safetensors: glim train --average N keeps the last N");
  }
  return files;
}

}  // namespace

Command average_command() {
  struct AverageArguments {
    std::vector<std::string> files;
    std::string out;
    bool overwrite = false;
  };
  Command c("average", "average the weights of checkpoints");
  c.computes = false;
  auto a = std::make_shared<AverageArguments>();
  c.argument("checkpoints", &a->files, "files of one run, or its folder (its epoch-N.safetensors)")
      .required = true;
  c.option("out", &a->out, "file of the model with the mean weights").required = true;
  c.option("overwrite", &a->overwrite, "replace the file");
  c.run = [a](Command&) {
    refuse_existing(a->out, a->overwrite);
    std::vector<StateDict> states;
    Checkpoint first;
    const std::vector<std::string> files = files_of(a->files);
    for (const std::string& f : files) {
      Checkpoint next = load_checkpoint(f);
      if (!states.empty() && (next.kind != first.kind || next.description != first.description))
        throw FileError(f, "describes a different model than " + files[0]);
      states.push_back(next.weights);
      if (states.size() == 1) first = std::move(next);
    }
    first.weights = average(states);
    first.optimizer.clear();
    save_checkpoint(a->out, first);
    say("the mean of " + counted(std::ssize(states), "checkpoint") + " is in " + a->out);
  };
  return c;
}

}  // namespace glim
